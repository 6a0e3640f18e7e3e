/** A row of the table, as jobs.jsonl has it. */
export interface ManifestRow {
  slot: string;
  id: string;
  /** Its id is its number in the file. */
  numbered?: true | undefined;
  /** Of a row that uses others: its key without the generations of what it uses. */
  own?: string | undefined;
  /** Its line in the file, from 1. */
  line?: number | undefined;
  /** Digest of what it was built from, if its request need not be built to know its key. */
  from?: string | undefined;
  vars?: object | undefined;
}

/** What tells the slots of rows: it is at the beginning of each line. */
export type ManifestHead = Pick<ManifestRow, 'slot' | 'id' | 'numbered' | 'own'>;

/** The line of a row. What `readManifestHead` reads comes first. */
export function manifestLine({ slot, id, numbered, own, line, from, vars }: ManifestRow): string {
  return JSON.stringify({ slot, id, numbered, own, line, from, vars });
}

const slotAt = '{"slot":"'.length;

/** The slot of a line of jobs.jsonl or results.jsonl, which are not parsed for it. */
export function readSlotName(text: string): string {
  return text.slice(slotAt, text.indexOf('"', slotAt));
}

const head = /^\{"slot":"([^"]*)","id":("(?:[^"\\]|\\.)*")(,"numbered":true)?(?:,"own":"([^"]*)")?/;

/** The beginning of a line of jobs.jsonl, whose variables can be long; undefined for what is no row. */
export function readManifestHead(text: string): ManifestHead | undefined {
  const [, slot, id, numbered, own] = head.exec(text) ?? [];
  if (slot === undefined || id === undefined) return undefined;
  return { slot, id: JSON.parse(id) as string, numbered: numbered === undefined ? undefined : true, own };
}
