import { answerFaults } from './answers.ts';
import { connectionFaults } from './connections.ts';
import type { Fault, FaultRow } from './fault.ts';
import { pictureFaults } from './pictures.ts';
import { statusFaults } from './statuses.ts';
import { streamFaults } from './streams.ts';

const faults: readonly Fault[] = [
  ...statusFaults,
  ...connectionFaults,
  ...answerFaults,
  ...pictureFaults,
  ...streamFaults,
];

/** Every fault model with what it does and the exit code it leads to, for the help and the README. */
export const faultRows: readonly FaultRow[] = faults.map(({ name, description, commands, exitCode, flags }) => ({
  name,
  description,
  commands,
  exitCode,
  ...(flags !== undefined && { flags }),
}));

/** The fault of a model name. */
export function findFault(model: string): Fault | undefined {
  return faults.find(({ name }) => name === model);
}
