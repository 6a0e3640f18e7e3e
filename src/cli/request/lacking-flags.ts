import { usageError } from '../../errors.ts';
import type { Ask } from '../../formats/ask.ts';
import { formatFacts, formatNames } from '../../formats/format.ts';
import type { Building, RequestFlags } from './build-request.ts';

/** The flag of each field that a format can lack. */
const flagsOfFields: { [field in keyof Ask & keyof RequestFlags]?: string } = {
  candidates: '--candidates',
  seed: '--seed',
  topK: '--top-k',
  responseMime: '--response-mime',
  aspect: '--aspect',
  size: '--size',
  safety: '--safety',
  toolConfig: '--tool-config',
  cachedContent: '--cached-content',
  metadata: '--metadata',
};

/** Throws GatewayError usage for a flag that the format has no place for, before anything is read or sent. */
export function refuseLackingFlags(flags: RequestFlags, { settings }: Building): void {
  const format = settings.format.value;
  const { lacks, title, turnsField } = formatFacts[format];
  if (settings.lane?.value === 'flex' && lacks.includes('tier'))
    throw lacking(`--lane flex (${settings.lane.from})`, title, `use --lane live; ${havingOf('tier')}`);
  if (flags.contents !== undefined && turnsField !== 'contents') throw lacking('--contents', title, 'use --messages');
  for (const field of lacks) {
    const flag = flagsOfFields[field as keyof typeof flagsOfFields];
    if (flag === undefined || flags[field as keyof RequestFlags] === undefined) continue;
    throw lacking(flag, title, `leave it out; ${havingOf(field)}`);
  }
}

/** `the content format and the completions format have it` */
function havingOf(field: keyof Ask): string {
  const having = formatNames.filter((name) => !formatFacts[name].lacks.includes(field));
  return `${having.map((name) => formatFacts[name].title).join(' and ')} ${having.length > 1 ? 'have' : 'has'} it`;
}

function lacking(flag: string, title: string, hint: string): Error {
  return usageError(`${flag}: ${title} does not have this field`, hint);
}
