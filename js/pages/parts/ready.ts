/** Take away what a page says as long as its script has not run: from here on the script says what is the matter. */
export function ready(): void {
  document.querySelector(".not-ready")?.remove();
}
