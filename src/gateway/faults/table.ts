import { connectionFaults } from './connections.ts';
import type { Fault, FaultRow, FaultTable } from './fault.ts';
import { replyFaults } from './replies.ts';
import { statusFaults } from './statuses.ts';
import { streamFaults } from './streams.ts';

export const everyCommand = ['text', 'image gen', 'image edit', 'chat'] as const;

const tables: readonly FaultTable[] = [statusFaults, connectionFaults, replyFaults, streamFaults];
const faults = new Map<string, Fault>(
  tables
    .flatMap((table) => Object.entries(table))
    .map(([name, fault]) => [name, { name, commands: everyCommand, ...fault }]),
);

/** Every fault model with what it does and the exit code it leads to, for the help and the README. */
export const faultRows: readonly FaultRow[] = [...faults.values()];

/** The fault of a model name. */
export function findFault(model: string): Fault | undefined {
  return faults.get(model);
}
