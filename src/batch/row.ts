import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import { findImageName } from './folder/results.ts';
import { batchFiles, type JobError } from './types.ts';

/** The state of a job in a report. */
export const rowStates = ['done', 'failed', 'unknown', 'pending'] as const;

export type RowState = (typeof rowStates)[number];

/** One job of a batch in a report. An absent field is unknown. */
export interface ReportRow {
  id: string;
  name?: string | undefined;
  command?: string | undefined;
  /** Of a report with all answers: `earlier` of what no row of the table asks now, such as another version of its prompt. */
  version?: 'now' | 'earlier' | undefined;
  state: RowState;
  /** The values of the template variables in its prompt. */
  vars?: JsonObject | undefined;
  prompt?: string | undefined;
  text?: string | undefined;
  /** Whether the reply says that it is whole, and why it ended. */
  complete?: boolean | undefined;
  stopReason?: string | undefined;
  /** As `--schema` checked it. */
  answer?: JsonValue | undefined;
  /** Paths below the batch's folder. */
  images: string[];
  /** The addresses, or titles, of what the answer cites; of what its searches found where it cites nothing. */
  sources?: string[] | undefined;
  usage?: JsonObject | undefined;
  cost?: JsonObject | undefined;
  attempts?: number | undefined;
  durationMs?: number | undefined;
  error?: Pick<JobError, 'class' | 'message'> | undefined;
  /** Of a row whose values vary: its jobs, by the labels of the variations. */
  variations?: Readonly<Record<string, ReportRow>> | undefined;
}

/** The row of a result. */
export function toReportRow(id: string, state: RowState, document: JsonObject): ReportRow {
  const { vars, usage, cost, answer, attempts, durationMs, error, images, sources, complete } = document;
  return {
    id,
    name: toTextIfString(document['name']),
    command: toTextIfString(document['command']),
    state,
    vars: isObject(vars) ? vars : undefined,
    prompt: toTextIfString(document['prompt']),
    text: toTextIfString(document['text']),
    complete: typeof complete === 'boolean' ? complete : undefined,
    stopReason: toTextIfString(document['stopReason']),
    answer,
    images: (Array.isArray(images) ? images : []).flatMap(listImagePaths),
    sources: Array.isArray(sources) ? listSourceNames(sources.filter(isObject)) : undefined,
    usage: isObject(usage) ? usage : undefined,
    cost: isObject(cost) ? cost : undefined,
    attempts: typeof attempts === 'number' ? attempts : undefined,
    durationMs: typeof durationMs === 'number' ? durationMs : undefined,
    error: isObject(error)
      ? { class: toTextIfString(error['class']) ?? '', message: toTextIfString(error['message']) ?? '' }
      : undefined,
  };
}

/** The file is where the batch saves its images, whatever the line says. */
function listImagePaths(image: JsonValue): string[] {
  const name = isObject(image) ? findImageName(image['path']) : undefined;
  return name === undefined ? [] : [`${batchFiles.images}/${name}`];
}

function listSourceNames(sources: readonly JsonObject[]): string[] {
  const cited = sources.filter((source) => source['cited'] === true);
  return (cited.length > 0 ? cited : sources).flatMap(
    (source) => toTextIfString(source['url']) ?? toTextIfString(source['title']) ?? [],
  );
}

function toTextIfString(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

/** A column of a table of jobs. */
export interface Column {
  name: string;
  /** Undefined: the cell is empty. */
  cell(row: ReportRow): string | number | undefined;
}

const leadingNames = ['id', 'version', 'name', 'command', 'state', 'complete', 'stopReason'] as const;

const trailingNames = ['attempts', 'durationMs'] as const;

/** Columns that every table has. */
const always = new Set(['id', 'state']);

/** Finds out, row by row, which columns a table needs: those for which at least one job has a value. */
export function findColumns() {
  const names = {
    vars: new Set<string>(),
    answer: new Set<string>(),
    usage: new Set<string>(),
    cost: new Set<string>(),
  };
  const filled = new Set(always);
  let empty = plainColumns.filter(({ name }) => !always.has(name));
  /** A variable is named id, and its value is not the id of the job. */
  let hasOtherId = false;
  const countFound = (): number =>
    names.vars.size + names.answer.size + names.usage.size + names.cost.size + filled.size + Number(hasOtherId);
  return {
    /** Returns whether a column came with the row. */
    see(row: ReportRow): boolean {
      const before = countFound();
      const { id, vars, answer, usage, cost } = row;
      const own = getColumnValue(vars, 'id');
      hasOtherId ||= own !== undefined && String(toCell(own)) !== id;
      addNames(names.vars, vars);
      addNames(names.answer, answer);
      addNames(names.usage, usage);
      addNames(names.cost, cost);
      for (const { name, cell } of empty) if ((cell(row) ?? '') !== '') filled.add(name);
      if (empty.length + filled.size > plainColumns.length) empty = empty.filter(({ name }) => !filled.has(name));
      return countFound() > before;
    },
    columns(): Column[] {
      const plain = new Map(plainColumns.filter(({ name }) => filled.has(name)).map((one) => [one.name, one]));
      const listColumns = (wanted: readonly string[]): Column[] => wanted.flatMap((name) => plain.get(name) ?? []);
      const leading = listColumns(leadingNames);
      const fixed = [
        ...listColumns(['text', 'answer']),
        ...memberColumns('answer', names.answer),
        ...listColumns(['images', 'sources']),
        ...memberColumns('usage', names.usage),
        ...memberColumns('cost', names.cost),
        ...listColumns([...trailingNames, 'error.class', 'error.message']),
      ];
      const taken = new Set([...leading, ...fixed].map(({ name }) => name));
      const vars = [...names.vars].filter((name) => name !== 'id' || hasOtherId);
      const own = vars.map((name) =>
        column(taken.has(name) ? `vars.${name}` : name, ({ vars }) => getColumnValue(vars, name)),
      );
      // If no table filled them, the jobs are distinguished by their prompts.
      return [...leading, ...(own.length > 0 ? own : listColumns(['prompt'])), ...fixed];
    },
  };
}

function addNames(names: Set<string>, value: JsonValue | undefined): void {
  if (isObject(value)) for (const name of Object.keys(value)) names.add(name);
}

/** The columns that have one value for each job. Without `text` where `--schema` checked the answer: it is the same JSON. */
const plainColumns: readonly Column[] = [
  ...leadingNames.map((name) => column(name, (row) => row[name])),
  column('prompt', ({ prompt }) => prompt),
  column('text', ({ text, answer }) => (answer === undefined ? text : undefined)),
  column('answer', ({ answer }) => (isObject(answer) ? undefined : answer)),
  column('images', ({ images }) => images.join('; ')),
  column('sources', ({ sources = [] }) => sources.join('; ')),
  ...trailingNames.map((name) => column(name, (row) => row[name])),
  column('error.class', ({ error }) => error?.class),
  column('error.message', ({ error }) => error?.message),
];

function memberColumns(key: 'answer' | 'usage' | 'cost', names: ReadonlySet<string>): Column[] {
  return [...names].map((name) => column(`${key}.${name}`, (row) => getColumnValue(row[key], name)));
}

function getColumnValue(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function column(name: string, value: (row: ReportRow) => JsonValue | undefined): Column {
  return { name, cell: (row) => toCell(value(row)) };
}

function toCell(value: JsonValue | undefined): string | number | undefined {
  if (value === null || value === undefined) return undefined;
  return typeof value === 'string' || typeof value === 'number' ? value : JSON.stringify(value);
}
