import { replayableContent } from '../formats/messages/reply.ts';
import type { Block, MessageReply } from '../formats/messages/types.ts';
import { doubtsOfModel } from './answering-model.ts';
import { emptyResult } from './content.ts';
import type { PictureStore } from './picture-store.ts';
import { blobOf, isPicture, picturesInText } from './pictures.ts';
import type { Result, ResultImage } from './result.ts';
import { endedWell } from './verdict.ts';

/** From a messages reply to the one result shape. Pictures of streamed text were already taken out of it: `images`. */
export async function messageResult(
  message: MessageReply,
  { store, model, images }: { store: PictureStore; model: string; images?: readonly ResultImage[] },
): Promise<Result> {
  const result = emptyResult(model);
  result.modelVersion = message.model;
  result.serviceTier = message.serviceTier;
  result.responseId = message.id;
  result.role = message.role;
  result.stopReason = message.stopReason;
  result.stopSequence = message.stopSequence;
  result.stopDetails = message.stopDetails;
  result.usage = message.usage;
  result.content = replayableContent(message);
  for (const block of message.blocks) await addBlock(result, block, { store, streamed: images !== undefined });
  result.images.push(...(images ?? []));
  result.candidates = [{ index: 0, text: result.text, finishReason: message.stopReason }];
  result.warnings.push(...doubtsOfModel(result));
  result.complete = message.complete && endedWell(result);
  return result;
}

const place = { candidate: 0, draft: false };

async function addBlock(
  result: Result,
  block: Block,
  { store, streamed }: { store: PictureStore; streamed: boolean },
): Promise<void> {
  if (block.kind === 'call') result.toolCalls.push({ id: block.id, name: block.name, input: block.input });
  else if (block.kind === 'thinking') result.thinking = (result.thinking ?? '') + block.text;
  else if (block.kind === 'blob') {
    const blob = await blobOf(block, place, store);
    if (blob) (isPicture(blob) ? result.images : (result.files ??= [])).push(blob);
  } else if (block.kind === 'text') {
    const { text, images } = await picturesInText(block.text, place, store);
    result.text += text;
    if (!streamed) result.images.push(...images);
  }
}
