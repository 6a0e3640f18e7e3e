import {
  type ApiRequest,
  describeEnd,
  type Listener,
  type ModelEvent,
  type PreparedRequest,
  replaceModel,
  services,
  shellWord,
} from '../../library/index.ts';
import { openFacts } from '../settings/memory.ts';
import type { PartialSettings } from '../settings/types.ts';
import type { Context } from '../context.ts';

/** Tells the user of models that are asked in place of others, and of models that end. */
export function modelListener(settings: PartialSettings, context: Context): Listener<ModelEvent> {
  const said = new Set<string>();
  return async (event) => {
    // Each event is told once: many requests of a batch have the same model.
    const about = 'from' in event ? [event.from, event.to] : 'end' in event ? event.end.model : event.model;
    const key = JSON.stringify([event.type, about]);
    if (said.has(key)) return;
    said.add(key);
    await tellModel(event, settings, context);
  };
}

/** A request in the form that would be sent: to the model that was chosen within a day in place of its own. */
export async function withKeptChoice(
  { post, model, defaultFor }: Pick<PreparedRequest, 'post' | 'model' | 'defaultFor'>,
  settings: PartialSettings,
  context: Context,
): Promise<ApiRequest> {
  if (defaultFor === undefined) return post;
  const to = (await openFacts(settings, context.io.now)).getText(`choice ${model}`);
  if (to === undefined) return post;
  await tellModel({ type: 'kept', from: model, to }, settings, context);
  return replaceModel(post, to);
}

/** The command that makes a model the default. */
export function setForGoodHint(
  model: string,
  { use }: Pick<PartialSettings, 'use'>,
  { root }: Pick<Context, 'root'>,
): string {
  const profile = root.profile === undefined ? '' : ` --profile ${shellWord(root.profile)}`;
  return `to set it for good: gateway-cli config set models.${use} ${shellWord(model)}${profile}`;
}

async function tellModel(event: ModelEvent, settings: PartialSettings, { io, ui, root }: Context): Promise<void> {
  switch (event.type) {
    case 'replaced': {
      const { from, to, because, error } = event;
      if (because === 'fallback')
        return ui.warn(
          `${to} is asked in place of ${from} (${settings.origins.fallback?.from ?? '--fallback'}): ${error.message}`,
        );
      const { title } = services[settings.service];
      const forGood = setForGoodHint(to, settings, { root });
      const why = because === 'gone' ? `does not have ${from} any more` : `refuses ${from} (${error.message})`;
      return ui.warn(`${title} ${why}, so ${to} is asked; ${forGood}`);
    }
    case 'kept':
      return ui.notice(`${event.to} is asked in place of ${event.from}, which was refused`);
    case 'ends': {
      // The end of a model is told once a day.
      const { end } = event;
      const told = `told ${end.model}`;
      const facts = await openFacts(settings, io.now);
      if (facts.get(told) !== undefined) return undefined;
      await facts.set(told, true).catch(() => undefined);
      return ui.warn(describeEnd(end, io.now()));
    }
    case 'unknown':
      return ui.note(`how long ${event.model} lives is not known: ${event.why}`);
  }
}
