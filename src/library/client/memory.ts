import type { ModelEnd } from '../vendors/model-rules.ts';
import type { ModelList } from './free-requests.ts';

/**
 * The memory of a client for what services told: how they want requests, and which models they have. It is of one base URL. A Map
 * of texts is one; the default is a Map of the client itself.
 */
export interface Memory {
  /** `lesson <name>`: a form that the service asked for. `choice <model>`: the model that is asked in its place. */
  get(name: string): string | undefined;
  set(name: string, text: string): unknown;
  /** Keeps the list of the models. */
  keepList?(list: ModelList): Promise<void>;
  /** The end of a model, as the kept list has it, if it is near. */
  findEnd?(model: string): Promise<ModelEnd | undefined>;
}
