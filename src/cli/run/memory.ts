import type { Memory } from '../../library/index.ts';
import { findKeptEnd, keepModels, openFacts } from '../settings/memory.ts';
import type { PartialSettings } from '../settings/types.ts';
import type { Context } from '../context.ts';

/** The memory of a client in the cache folder. If something cannot be written, it is not remembered. */
export interface KeptMemory extends Memory {
  /** Waits until everything is in the file. */
  close(): Promise<void>;
}

/**
 * Opens the memory of what the service of the settings told within a day. Without `learns` its lessons are not from a run before,
 * and no later run has them: a replay elsewhere needs the refusal in the recording, too.
 */
export async function openMemory(
  settings: PartialSettings,
  { learns }: { learns: boolean },
  { io, ui }: Context,
): Promise<KeptMemory> {
  const facts = await openFacts(settings, io.now);
  /** The texts of this run, also those that are not kept. */
  const told = new Map<string, string>();
  const writes: Promise<void>[] = [];
  const tellUnkept = (error: Error): Promise<void> => ui.detail(`what the service told is not kept: ${error.message}`);
  const isKept = (name: string, text: string) => (learns || !name.startsWith('lesson ')) && ui.redact(text) === text;
  const get = (name: string): string | undefined => {
    const kept = facts.getText(name);
    return told.get(name) ?? (kept !== undefined && isKept(name, kept) ? kept : undefined);
  };
  return {
    get,
    set(name, text) {
      if (get(name) === text) return;
      told.set(name, text);
      if (isKept(name, text)) writes.push(facts.set(name, text).catch(tellUnkept));
    },
    keepList: ({ models, cut }) =>
      cut === undefined ? keepModels(facts, ui.clean(models), io.now()).catch(tellUnkept) : Promise.resolve(),
    findEnd: async (model) => findKeptEnd(facts, model),
    close: async () => void (await Promise.all(writes)),
  };
}
