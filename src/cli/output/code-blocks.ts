import { lexer, type Token, walkTokens } from 'marked';

/** The fenced code blocks of a Markdown text, in their order; those in lists and quotes too, empty ones not. */
export function codeBlocks(markdown: string): string[] {
  const blocks: string[] = [];
  walkTokens(lexer(markdown), (token: Token) => {
    if (token.type !== 'code' || token['codeBlockStyle'] === 'indented') return;
    const text = String(token['text']);
    if (text.trim() !== '') blocks.push(text.endsWith('\n') ? text : `${text}\n`);
  });
  return blocks;
}
