"""Colors of pages and pictures by role, in light and in dark. Text in each of them can be read on its paper."""

LIGHT = {
    "ink": "#22303c",
    "muted": "#5f6b77",
    "axis": "#8a97a3",
    "line": "#e4e8ec",
    "paper": "#ffffff",
    "raised": "#f4f6f8",
    "edge": "#7f8b96",
    "link": "#1d6785",
    "trusted": "#3567b0",
    "local": "#b35a1a",
    "both": "#17765c",
    "warn": "#fdf3e4",
    "danger": "#a4262c",
    "on": "#ffffff",
}
"""Colors by role, on paper; those of text and of the two groups can be read there."""

DARK = {
    "ink": "#e4e9ee",
    "muted": "#a3afba",
    "axis": "#7c8894",
    "line": "#313b45",
    "paper": "#14191f",
    "raised": "#1d242c",
    "edge": "#7c8894",
    "link": "#7cc4e2",
    "trusted": "#8fb4f0",
    "local": "#eda066",
    "both": "#55c8a2",
    "warn": "#33291a",
    "danger": "#ff9a94",
    "on": "#0d1216",
}
