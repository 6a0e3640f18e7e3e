import { open } from 'node:fs/promises';
import {
  type Deadline,
  describeReadError,
  listLinkedImages,
  mostImages,
  readFirstBytes,
  readInputImage,
  type Result,
  type ResultImage,
} from '../../library/index.ts';
import type { NetworkSettings } from './connection.ts';
import type { Context, InputContext } from '../context.ts';
import { replayedFolder } from '../flags/shared.ts';
import { shownUrl } from '../input/input-files.ts';
import { openUrlFetcher } from './fetch-urls.ts';
import type { ConnectionFlags } from './settings.ts';

interface LinkedOptions {
  settings: NetworkSettings;
  deadline: Deadline;
  atEnd: InputContext['atEnd'];
  /** Called for a picture that could not be fetched. Its link stays in the text. */
  warn: (text: string) => Promise<unknown>;
}

/** The result with the pictures that it only links to in it. Never throws: the reply was paid for. */
type FetchLinked = (result: Result, options: LinkedOptions) => Promise<Result>;

/** The fetching of the pictures that replies link to; undefined if no pictures are wanted, or no network is used. */
export function openLinkedFetcher(
  flags: ConnectionFlags & { fetch?: boolean; maxImages?: number },
  context: Context,
): FetchLinked | undefined {
  if (flags.fetch === false || replayedFolder(flags) !== undefined) return undefined;
  const fetcher = openUrlFetcher(flags, context);
  return async (result, { warn, ...options }) => {
    if (result.images.length > 0 || options.settings.offline) return result;
    const images: ResultImage[] = [];
    const candidates: Result['candidates'] = [];
    for (const candidate of result.candidates) {
      let { text } = candidate;
      const links = listLinkedImages(text).filter((link) => URL.canParse(link) && link.startsWith('https:'));
      for (const link of links.slice(0, (flags.maxImages ?? mostImages) - images.length)) {
        if (options.deadline.signal.aborted) break;
        try {
          images.push(await fetchPicture(new URL(link), candidate.index));
          text = withoutLink(text, link);
        } catch (error) {
          if (!options.deadline.signal.aborted)
            await warn(`a linked picture was not fetched: ${describeReadError(error)}`);
        }
      }
      candidates.push({ ...candidate, text });
    }
    return { ...result, candidates, images, text: candidates[0]?.text ?? result.text };

    async function fetchPicture(url: URL, candidate: number): Promise<ResultImage> {
      const { path, mimeType } = await fetcher.fetchLinked(url, options);
      const label = `the picture at ${shownUrl(url)}`;
      const { bytes, sha256 = '' } = await readInputImage(path, { hash: true, label, declaredType: mimeType });
      const handle = await open(path);
      const head = await readFirstBytes(handle).finally(() => handle.close().catch(() => undefined));
      return {
        declaredType: mimeType,
        candidate,
        draft: false,
        blob: { bytes, sha256, head, content: { file: path } },
      };
    }
  };
}

function withoutLink(text: string, link: string): string {
  const end = text.indexOf(`](${link})`);
  const start = text.lastIndexOf('![', end);
  return `${text.slice(0, start)}${text.slice(end + link.length + 3)}`.trim();
}
