import { isMovingAlias, otherModel } from '../model-name.ts';
import { quote } from '../formats/quote.ts';
import type { Result } from './result.ts';

/** What a reader must know where another model answered than the requested one. */
export function doubtsOfModel({ model, modelVersion }: Pick<Result, 'model' | 'modelVersion'>): string[] {
  const other = otherModel(model, modelVersion);
  if (other === undefined || model === '' || isMovingAlias(model)) return [];
  return [`another model answered: ${quote(other, 200)}, not ${quote(model, 200)}`];
}
