import type { Command } from 'commander';
import { addFlags, type FlagTable, type FlagValues } from '../cli/flags/flag.ts';
import { bodyFlags, connectionFlags, outputFlags, priceFlags } from '../cli/flags/shared.ts';
import type { RequestFlags } from '../cli/request/build-request.ts';
import type { ConnectionFlags } from '../cli/run/settings.ts';

/** The flags of a command that asks a model, as they were typed; `Own` are those of the command alone. */
export type AskFlags<Own extends FlagTable> = ConnectionFlags &
  RequestFlags &
  Omit<FlagValues<Own & typeof outputFlags>, keyof RequestFlags>;

/** Adds the flags of every such command, after its own. */
export function addAskFlags(command: Command): void {
  addFlags(command, 'Request', bodyFlags);
  addFlags(command, 'Connection', connectionFlags);
  addFlags(command, 'Costs', priceFlags);
  addFlags(command, 'Output', outputFlags);
}
