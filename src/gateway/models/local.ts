import type { GatewayFormat } from '../types.ts';
import type { ServiceRules } from '../service.ts';

/** A model of the gateway. */
export interface LocalModel {
  id: string;
  title: string;
  /** Whether the model draws; otherwise it writes. */
  draws: boolean;
}

/** Every offline model except the fault models, which are not for choosing. */
export const localModels: readonly LocalModel[] = [
  { id: 'local-text', title: 'Local text', draws: false },
  { id: 'local-chat', title: 'Local chat', draws: false },
  { id: 'local-image', title: 'Local image', draws: true },
  { id: 'local-edit', title: 'Local edit', draws: true },
];

/** The date of every offline model and of its replies: they do not age, so that replies stay equal. */
export const modelDate = '2025-01-01T00:00:00Z';
/** The same date in seconds since 1970. */
export const modelSeconds = Date.parse(modelDate) / 1000;

/** The offline model of a name. */
export function findLocalModel(id: string): LocalModel | undefined {
  return localModels.find((model) => model.id === id);
}

/** The names of the models of a format, for messages. */
export function listModelNames(offers: GatewayFormat['offers']): string {
  return localModels
    .filter(offers)
    .map(({ id }) => id)
    .join(', ');
}

/** Whether the name belongs to models of a vendor, which can have any ending. A service has only its own models. */
export function isVendorModel(model: string, rules: ServiceRules | undefined): boolean {
  if (rules) return rules.models.test(model);
  return vendorModels.test(model) || drawsByName(model);
}

/** Names of vendors' models; an aggregator of several vendors has a slash in its names. */
const vendorModels = /^(?:claude|gemini|gemma|gpt|chatgpt|codex)-.|^o\d|^[a-z][\w-]*\/\w/;

/** Names of models that draw, below the name of their vendor. */
const drawingModels =
  /^(?:[\w.-]+\/)*(?:imagen|dall-e|(?:gemini-)?nano-banana|flux|seedream|seededit|recraft|ideogram|stable-diffusion|sdxl?|riverflow|playground-v)(?:$|[\d.:-])/;

/** Whether a vendor's model draws: its name says so. */
export function drawsByName(model: string): boolean {
  return drawingModels.test(model) || /-image\b/.test(model);
}
