import { GatewayError, joinReplies, joinSpent } from '../../library/index.ts';
import type { AnswerContext, CommandEnd, Outcome, Report, UnsavedReply } from '../context.ts';

/** The outcome of a command that asked nothing, or knows nothing of its answer. */
export const emptyOutcome: Outcome = {
  spent: { costs: [], unknown: 0 },
  warnings: [],
  attempts: 0,
  fromCache: false,
  images: [],
  files: [],
  mismatches: [],
  unsaved: { images: [], text: false },
};

/** The report of an answer before any part of it has come. */
export function emptyReport(command: string, warnings: readonly string[] = []): Report {
  return { command, warnings, outcome: emptyOutcome };
}

/** The report of an outcome while its command runs. */
export function toReport(outcome: Outcome, { command, ui, selected, tags }: AnswerContext): Report {
  return { command, warnings: ui.warnings, outcome, selected, tags };
}

/** The number of requests that were sent before an error. */
export function getAttempts(error: unknown): number {
  return (error instanceof GatewayError && error.details.attempts) || 0;
}

/** Joins several outcomes into one: their replies by the table of their fields, their written files, and their costs. */
export function joinOutcomes(outcomes: readonly Outcome[], on: Parameters<typeof joinReplies>[1]): Outcome {
  const replies = outcomes.flatMap(({ reply }) => reply ?? []);
  const turns = outcomes.flatMap((outcome) => outcome.turns ?? []);
  return {
    reply: replies.length === 0 ? undefined : joinReplies(replies, on),
    spent: joinSpent(outcomes.map(({ spent }) => spent)),
    warnings: [...new Set(outcomes.flatMap(({ warnings }) => warnings))],
    attempts: outcomes.reduce((sum, { attempts }) => sum + attempts, 0),
    fromCache: outcomes.some(({ fromCache }) => fromCache),
    images: outcomes.flatMap(({ images }) => images),
    files: outcomes.flatMap(({ files }) => files),
    mismatches: outcomes.flatMap(({ mismatches }) => mismatches),
    turns: turns.length === 0 ? undefined : turns,
    answer: outcomes.at(-1)?.answer,
    unsaved: joinUnsaved(outcomes.map(({ unsaved }) => unsaved)),
    error: outcomes.at(-1)?.error,
    thrown: outcomes.find(({ thrown }) => thrown)?.thrown,
  };
}

function joinUnsaved(all: readonly UnsavedReply[]): UnsavedReply {
  const first = <Name extends keyof UnsavedReply>(name: Name) => all.find((one) => one[name] !== undefined)?.[name];
  return {
    failure: first('failure'),
    images: all.flatMap(({ images }) => images),
    place: first('place'),
    text: all.some(({ text }) => text),
    body: first('body'),
  };
}

/** Runs the last steps of a command, and keeps the outcome that they begin with: if they throw, it is reported beside their error. */
export async function keepOutcome(outcome: Outcome, steps: () => Promise<CommandEnd>): Promise<CommandEnd> {
  if (outcome.thrown) return { outcome, error: outcome.thrown.value };
  try {
    return await steps();
  } catch (error) {
    return { outcome, error };
  }
}
