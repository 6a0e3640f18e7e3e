import type { ChalkInstance } from 'chalk';

/** Keywords of common languages. */
const keywords = [
  'and as async await begin break case catch class const continue def default defer del delete do done elif else end enum',
  'esac export extends fi final finally fn for from func function if impl implements import in include interface is lambda let',
  'local match mod module mut namespace new nil none not null or package pass private protected pub public raise return self',
  'static struct super switch then this throw throws trait try type typeof use using val var void when where while with yield',
  'true false True False None undefined SELECT FROM WHERE INSERT INTO UPDATE DELETE CREATE TABLE JOIN ON AND OR NOT NULL',
]
  .join(' ')
  .replaceAll(' ', '|');

/** Comments, strings on one line, keywords and numbers of any language. */
const tokens = new RegExp(
  [
    String.raw`(?<comment>(?<=^|\s)(?:\/\/|#[\s!]).*|\/\*.*?(?:\*\/|$))`,
    String.raw`(?<string>"(?:[^"\\]|\\.)*"|(?<!\w)'(?:[^'\\]|\\.)*'|${'`'}(?:[^${'`'}\\]|\\.)*${'`'})`,
    String.raw`(?<keyword>(?<![\w.$-])(?:${keywords})(?![\w-]))`,
    String.raw`(?<number>(?<![\w.$-])\d[\d_]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w.]))`,
  ].join('|'),
  'g',
);

/** A longer line gets one colour: its tokens would take too long. */
const maxCharacters = 1000;

/** Colours the comments, strings, keywords and numbers of a line of code. */
export function colourCode(line: string, chalk: ChalkInstance): string {
  if (chalk.level === 0 || line.length > maxCharacters) return chalk.cyan(line);
  let shown = '';
  let at = 0;
  for (const { 0: token, index, groups = {} } of line.matchAll(tokens)) {
    shown += chalk.cyan(line.slice(at, index)) + chooseColor(groups, chalk)(token);
    at = index + token.length;
  }
  return shown + chalk.cyan(line.slice(at));
}

function chooseColor(
  { comment, string, keyword }: Record<string, string | undefined>,
  chalk: ChalkInstance,
): ChalkInstance {
  if (comment !== undefined) return chalk.dim;
  if (string !== undefined) return chalk.green;
  return keyword === undefined ? chalk.yellow : chalk.magenta;
}
