import type { WrittenImage } from '../context.ts';
import type { JsonObject } from '../../json.ts';

/** What is known of the reply that pictures came with. */
export interface ReplyFacts {
  responseId?: string | undefined;
  modelVersion?: string | undefined;
  usage?: object | undefined;
}

interface RequestFacts {
  prompt: string | undefined;
  model: string;
  provenance?: JsonObject | undefined;
}

/** What a sidecar says of its picture and how it came to be. */
export function sidecarFacts(
  image: WrittenImage,
  { responseId, modelVersion, usage }: ReplyFacts,
  { prompt, model, provenance }: RequestFacts,
): JsonObject & { image: JsonObject } {
  const facts = {
    schema: 'gateway-cli/sidecar@1',
    prompt,
    model,
    ...provenance,
    responseId,
    modelVersion,
    usage,
    image,
  };
  return JSON.parse(JSON.stringify(facts)) as ReturnType<typeof sidecarFacts>;
}
