import {
  type AskOptions,
  type CheckEnd,
  type Client,
  type Deadline,
  drainDeltas,
  listBlobs,
  type Performed,
  type PreparedRequest,
} from '../../client/index.ts';
import { findAnswerCost } from '../../cost/cost.ts';
import type { Pricing } from '../../cost/price.ts';
import type { Spent } from '../../cost/types.ts';
import { GatewayError } from '../../errors.ts';
import type { StreamDelta } from '../../formats/events.ts';
import type { Outcome } from '../context.ts';
import { emptyOutcome, getAttempts } from '../output/outcome.ts';
import type { ImageOutput } from '../output/save-images.ts';

/** How a request is asked, and where its answer goes while it comes. */
export interface Asking extends Pick<AskOptions, 'maxTurns' | 'beforeHop' | 'gate' | 'sample' | 'joined'> {
  client: Client;
  pricing: Pricing;
  deadline: Deadline;
  images: ImageOutput;
  /** Called where the folder of the images is full. */
  onSpare?: (() => void) | undefined;
  /** The head of the reply came. */
  onHead?: (() => void) | undefined;
  /** Reads the deltas. */
  read?(deltas: AsyncGenerator<StreamDelta[], Performed>): Promise<Performed>;
}

/**
 * Asks once: sends, pays, reads and counts the cost. Its files are not saved yet. Never throws: what a service, a signal or a bug did is
 * in the outcome.
 */
export async function askOnce(request: PreparedRequest, asking: Asking): Promise<Outcome> {
  const { client, pricing, images, onSpare, onHead, read = drainDeltas, ...options } = asking;
  let attempts = 0;
  let fromCache = false;
  try {
    const deltas = client.ask(request, {
      ...options,
      store: images.openStore(onSpare),
      mostImages: images.most,
      beforeRead(answered) {
        ({ attempts } = answered);
        fromCache ||= answered.reply.recordedAt !== undefined;
        onHead?.();
      },
    });
    const answer = await read(deltas);
    const { result: reply, error, isRecorded } = answer;
    const found = isRecorded ? undefined : findAnswerCost(answer, pricing);
    const lack = found && 'lack' in found && found.lack !== undefined ? [`the cost is unknown: ${found.lack}`] : [];
    const warnings = [...reply.warnings, ...lack];
    return { ...emptyOutcome, reply, spent: toSpent(found), warnings, attempts: answer.attempts, fromCache, error };
  } catch (value) {
    const sent = Math.max(attempts, getAttempts(value));
    // A recording can hold a failure.
    const isRecorded = fromCache || (sent === 0 && value instanceof GatewayError && value.details.sent === 'yes');
    const isLost = !(value instanceof GatewayError && value.billed === 'no');
    const spent = { costs: [], unknown: isLost ? 1 : 0 };
    return { ...emptyOutcome, spent, attempts: sent, fromCache: isRecorded, thrown: { value } };
  }
}

function toSpent(found: ReturnType<typeof findAnswerCost> | undefined): Spent {
  if (found === undefined) return emptyOutcome.spent;
  return 'cost' in found ? { costs: [found.cost], unknown: 0 } : { costs: [], unknown: 1 };
}

/** Saves the images and files of an answer. Never throws. */
export async function saveFiles(outcome: Outcome, images: ImageOutput, endOf: CheckEnd): Promise<Outcome> {
  const { reply } = outcome;
  return reply === undefined ? outcome : { ...outcome, ...(await images.save(listBlobs(reply), reply, endOf)) };
}
