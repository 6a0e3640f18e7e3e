/** A line that GitHub Actions shows as an annotation. Line breaks and `%` are escaped; in the title `:` and `,` too. */
export function githubErrorLine(message: string, title: string): string {
  return `::error title=${escapeProperty(title)}::${escapeData(message)}`;
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
