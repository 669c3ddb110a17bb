/**
 * Numbers on the planner's page are English, whatever the browser's language is. uPlot asks for the language when it is loaded, and
 * throws if it is no language tag: a Chromium whose locale is C or POSIX names "en-US@posix". Import this before uPlot.
 */

Object.defineProperty(navigator, "language", { value: "en" });
