import { escapeForTerminal } from './escape.ts';

/**
 * A line that GitHub Actions shows as an annotation. Line breaks and `%` are escaped; in the title `:` and `,` too. What a
 * terminal or the runner would obey in the message is made visible.
 */
export function githubErrorLine(message: string, title: string): string {
  const shown = escapeForTerminal(message).replaceAll('##[', '##\u200b[');
  return `::error title=${escapeProperty(title)}::${escapeData(shown)}`;
}

function escapeData(text: string): string {
  return text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
}

function escapeProperty(text: string): string {
  return escapeData(text).replaceAll(':', '%3A').replaceAll(',', '%2C');
}
