import {
  type AskOptions,
  type CheckEnd,
  countAnswer,
  type Deadline,
  type GatewayClient,
  GatewayError,
  listBlobs,
  type PreparedRequest,
  type Pricing,
  type ReadDeltas,
  tryAsk,
} from '../../library/index.ts';
import type { Outcome } from '../context.ts';
import { emptyOutcome } from '../output/outcome.ts';
import type { ImageOutput } from '../output/save-images.ts';

/** The connection of a request, and the readers of its answer while it comes. */
export interface Asking extends Pick<AskOptions, 'maxTurns' | 'gate' | 'sample'> {
  client: GatewayClient;
  pricing: Pricing;
  deadline: Deadline;
  images: ImageOutput;
  /** Called when the folder of the images is full. */
  onSpare?: (() => void) | undefined;
  read?: ReadDeltas | undefined;
}

/**
 * Asks once: sends, pays, reads and counts the cost. The files of the answer are not saved yet. Never throws: a failure of a
 * service, a signal or a bug is in the outcome.
 */
export async function askForOutcome(request: PreparedRequest, asking: Asking): Promise<Outcome> {
  const { client, pricing, images, onSpare, ...options } = asking;
  const asked = await tryAsk(client, request, {
    ...options,
    store: images.openStore(onSpare),
    mostImages: images.most,
  });
  const { answer, failure, attempts, isRecorded: fromCache } = asked;
  const known = { ...emptyOutcome, attempts, fromCache };
  if (answer === undefined) {
    const isLost = !(failure instanceof GatewayError && failure.billed === 'no');
    return { ...known, spent: { costs: [], unknown: isLost ? 1 : 0 }, thrown: { value: failure } };
  }
  const { result: reply, error } = answer;
  const { spent, warnings } = countAnswer(answer, pricing);
  return { ...known, reply, spent, warnings: [...reply.warnings, ...warnings], error };
}

/** Saves the images and files of an answer. Never throws. */
export async function saveFiles(outcome: Outcome, images: ImageOutput, endOf: CheckEnd): Promise<Outcome> {
  const { reply } = outcome;
  return reply === undefined ? outcome : { ...outcome, ...(await images.save(listBlobs(reply), reply, endOf)) };
}
