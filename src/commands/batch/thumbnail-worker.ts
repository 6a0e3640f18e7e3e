import { availableParallelism } from 'node:os';
import { isMainThread, parentPort, Worker } from 'node:worker_threads';
import { makeThumbnail, type PictureFile, type Thumbnail } from './thumbnail.ts';

/** Makes thumbnails on all cores. */
export interface ThumbnailPool {
  draw(file: PictureFile): Promise<Thumbnail>;
  /** Ends the threads, whatever they are at. */
  close(): Promise<void>;
}

/** This file is what a worker thread runs, too: there it answers each picture with its thumbnail. */
if (!isMainThread) {
  parentPort?.on('message', async (file: PictureFile) => {
    parentPort?.postMessage(await makeThumbnail(file), []);
  });
}

/** One thread; another one takes its place when it dies. */
interface Thread {
  worker: Worker;
}

/** Threads for so many pictures. Sources that run without a build have none: not every Node loads TypeScript in a worker. */
export function openThumbnailPool(pictures: number): ThumbnailPool {
  const count = __filename.endsWith('.ts') ? 0 : Math.min(availableParallelism(), pictures);
  if (count === 0) return { draw: makeThumbnail, close: async () => undefined };
  const threads = Array.from({ length: count }, (): Thread => ({ worker: new Worker(__filename) }));
  const idle = [...threads];
  const waiting: ((thread: Thread) => void)[] = [];
  const giveBack = (thread: Thread): void => {
    const next = waiting.shift();
    if (next) next(thread);
    else idle.push(thread);
  };
  return {
    async draw(file) {
      const thread = idle.pop() ?? (await new Promise<Thread>((resolve) => waiting.push(resolve)));
      return ask(thread, file).finally(() => giveBack(thread));
    },
    close: async () => void (await Promise.all(threads.map(({ worker }) => worker.terminate()))),
  };
}

/** A picture that takes a thread down with it costs its own thumbnail, not the page. */
async function ask(thread: Thread, file: PictureFile): Promise<Thumbnail> {
  const { worker } = thread;
  const answer = await new Promise<Thumbnail | undefined>((resolve) => {
    const end = (thumbnail?: Thumbnail): void => {
      worker.off('message', end).off('error', die).off('exit', die);
      resolve(thumbnail);
    };
    const die = (): void => end();
    worker.on('message', end).on('error', die).on('exit', die);
    worker.postMessage(file, []);
  });
  if (answer) return answer;
  thread.worker = new Worker(__filename);
  return { hidden: 'it cannot be decoded' };
}
