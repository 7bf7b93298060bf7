// The page for when even the built-in error page can't be rendered. It needs no template, stylesheet or branding.

/** Says that something went wrong, and the reference for support. */
export function lastResortPage(requestId: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="color-scheme" content="light dark">
    <title>Something went wrong</title>
  </head>
  <body>
    <main>
      <h1>Something went wrong</h1>
      <p>Please go back to the app and try again.</p>
      <p>Reference: <code>${escapeHtml(requestId)}</code></p>
    </main>
  </body>
</html>
`;
}

function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
