import { usageError } from '../../errors.ts';

/** Flags of which one at most owns stdout. */
export interface StdoutFlags {
  dryRun?: true;
  curl?: true;
  raw?: true;
  jsonl?: true;
  field?: readonly string[];
  code?: true;
  output?: string | undefined;
}

/** Throws GatewayError usage when two flags want stdout. `--dry-run --json` is the one pair that goes together. */
export function checkStdoutOwner(flags: StdoutFlags, json: boolean): void {
  const owners = [
    flags.dryRun && '--dry-run',
    flags.curl && '--curl',
    flags.raw && '--raw',
    flags.jsonl && '--jsonl',
    flags.field && '--field',
    flags.code && (flags.output ?? '-') === '-' && '--code',
    flags.output === '-' && !flags.code && '-o -',
    json && !flags.dryRun && '--json',
  ].filter((owner) => typeof owner === 'string');
  if (owners.length > 1)
    throw usageError(`${owners.join(' and ')} both write to stdout`, `keep one of them: ${owners[0]}`);
}

/** Flags that mean nothing where the reply is only handed on. */
interface RawFlags {
  raw?: boolean | undefined;
  count?: number | undefined;
  output?: string | undefined;
  sidecar?: boolean | undefined;
  preview?: boolean | undefined;
  strict?: boolean | undefined;
}

/** Throws GatewayError usage for what `--raw` would silently leave undone. */
export function checkRaw(flags: RawFlags): void {
  if (!flags.raw) return;
  if ((flags.count ?? 1) > 1)
    throw usageError('--raw prints one reply, and -n asks for several', 'leave one of them out');
  const idle = (['output', 'sidecar', 'preview', 'strict'] as const).find((name) => flags[name] !== undefined);
  if (idle === undefined) return;
  const flag = idle === 'output' ? '-o' : `--${idle}`;
  throw usageError(`--raw writes no files, so ${flag} has nothing to do`, `leave one of them out: --raw or ${flag}`);
}
