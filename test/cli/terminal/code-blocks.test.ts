import { expect, test } from 'vitest';
import { codeBlocks } from '../../../src/cli/terminal/code-blocks.ts';

test.each([
  ['one block', 'text\n```sh\nls\n```\nmore', ['ls\n']],
  ['two blocks', '```\na\n```\n~~~\nb\n~~~\n', ['a\n', 'b\n']],
  ['a tab in a list', '1. do:\n   ```make\n   all:\n   \tcc a.c\n   ```\n', ['all:\n\tcc a.c\n']],
  ['CRLF', '```\r\na\r\nb\r\n```\r\n', ['a\r\nb\r\n']],
  ['a BOM', '\uFEFF```\na\n```\n', ['a\n']],
  ['a quote', '> ```\n> a\n>   b\n> ```\n', ['a\n  b\n']],
  ['a quote that ends', '> ```\n> a\nb', ['a\n']],
  ['a longer fence', '````\n```\na\n```\n````\n', ['```\na\n```\n']],
  ['a fence without an end', '```\na', ['a\n']],
  ['no fence', '    indented\n\n    ```\n    x\n', []],
  ['a fence in the line', 'use ```a``` here', []],
  ['an empty block', '```\n```\n', []],
  ['a list item that begins with it', '- ```\n  a\n  ```\n', ['a\n']],
  ['an item whose fence is deeper', '- item\n\n    ```\n    a\n    ```\n', ['a\n']],
  ['2,000 quotes', `${'> '.repeat(2000)}\n\`\`\`\na\n\`\`\`\n`, ['a\n']],
])('finds %s', (_name, markdown, expected) => {
  expect(codeBlocks(markdown)).toEqual(expected);
});
