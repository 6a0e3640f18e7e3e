import { isAbsolute, resolve } from 'node:path';
import {
  type BodyValue,
  createUpload,
  isObject,
  type JsonObject,
  readInputImage,
  textField,
  type Turn,
} from '../../library/index.ts';

/** A picture of an answer, as a block of its turn: a session names its file, and holds what its service wants back with it. */
export function pictureBlock(
  { path, cwd }: { path: string; cwd: string },
  { mimeType, sha256, signature }: { mimeType: string; sha256: string; signature: string | undefined },
): JsonObject {
  const source = { type: 'path', path: resolve(cwd, path), media_type: mimeType, sha256 };
  return { type: 'image', title: path, source, ...(signature !== undefined && { signature }) };
}

/** The service that gets the turns, and the function that is told of missing pictures. */
interface Opening {
  /** The name of the service in turns. Undefined if its format takes no pictures of answers. */
  service: string | undefined;
  warn(text: string): Promise<unknown>;
}

/**
 * Turns in which the pictures of answers are bytes, for the service that drew them. Other services get the name of a picture if a
 * turn has nothing else. A picture whose file is missing or was changed is not sent: it is not the picture that the service drew.
 */
export async function openPictures(turns: readonly Turn[], opening: Opening): Promise<Turn[]> {
  const opened: Turn[] = [];
  for (const turn of turns) opened.push(await openTurn(turn, opening));
  return opened;
}

async function openTurn(turn: Turn, { service, warn }: Opening): Promise<Turn> {
  const { content } = turn;
  if (turn.role !== 'assistant' || typeof content === 'string' || !content.some(isSavedPicture)) return turn;
  const isOwn = service !== undefined && turn.service === service;
  const blocks: BodyValue[] = [];
  const names: string[] = [];
  for (const block of content) {
    if (!isSavedPicture(block)) {
      blocks.push(block);
      continue;
    }
    const picture = isOwn ? await openPicture(block) : undefined;
    const name = textField(block, 'title') ?? 'picture';
    if (picture === undefined) names.push(`[${name}]`);
    else blocks.push(picture);
    if (isOwn && picture === undefined)
      await warn(
        `the picture ${JSON.stringify(name)} of an earlier answer is gone or was changed: the model does not see it`,
      );
  }
  if (blocks.length === 0) blocks.push({ type: 'text', text: names.join(' ') });
  return { ...turn, content: blocks };
}

function isSavedPicture(block: BodyValue): block is JsonObject & { source: JsonObject } {
  return (
    isObject(block) && block['type'] === 'image' && isObject(block['source']) && block['source']['type'] === 'path'
  );
}

async function openPicture({ source, ...block }: JsonObject & { source: JsonObject }): Promise<BodyValue | undefined> {
  const path = textField(source, 'path') ?? '';
  if (!isAbsolute(path)) return undefined;
  try {
    const { bytes, sha256, mimeType } = await readInputImage(path, { hash: true });
    if (sha256 !== source['sha256']) return undefined;
    return { ...block, source: { type: 'base64', media_type: mimeType, data: createUpload(path, bytes) } };
  } catch {
    return undefined;
  }
}
