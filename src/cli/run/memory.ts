import type { Memory } from '../../library/index.ts';
import { keepModels, type KeptTexts, openTexts, readKeptEnd } from '../settings/memory.ts';
import type { PartialSettings } from '../settings/types.ts';
import type { Context } from '../context.ts';

/** The memory of a client in the cache folder. If something cannot be written, it is not remembered. */
export interface KeptMemory extends Memory, Pick<KeptTexts, 'close'> {}

/**
 * Opens the memory of what the service of the settings told within a day. Without `learns` its lessons are not from a run before,
 * and no later run has them: a replay elsewhere needs the refusal in the recording, too.
 */
export async function openMemory(
  settings: PartialSettings,
  { learns }: { learns: boolean },
  { io, ui }: Context,
): Promise<KeptMemory> {
  const tellUnkept = (error: Error): Promise<void> => ui.detail(`what the service told is not kept: ${error.message}`);
  const isKept = (name: string, text: string) => (learns || !name.startsWith('lesson ')) && ui.redact(text) === text;
  const texts = await openTexts(settings, io.now, { isKept, tellUnkept });
  const ends = new Map<string, ReturnType<typeof readKeptEnd>>();
  return {
    ...texts,
    keepList: ({ models, cut }) =>
      cut === undefined ? keepModels(settings, ui.clean(models), io.now()).catch(tellUnkept) : Promise.resolve(),
    findEnd(model) {
      const end = ends.get(model) ?? readKeptEnd(settings, model, io.now());
      ends.set(model, end);
      return end;
    },
  };
}
