import { contentFormat } from '../content/format.ts';
import type { ServiceRules } from '../service.ts';
import type { GatewayRequest, Reply } from '../types.ts';
import { drawsByName, isVendorModel, localModels, namesOfModels } from './local.ts';

/** `GET /v1beta/models` and `GET /v1/models`, or one model of them. Throws Problem 404. */
export function answerModels(
  { format: pathFormat, keyForm, model: asked, query, target }: GatewayRequest,
  rules: ServiceRules | undefined,
): Reply {
  // `/v1/models` is a path of all formats: the caller's key says which it speaks.
  const format = keyForm === 'vendor-key' || keyForm === 'query' ? contentFormat : pathFormat;
  const offered = localModels.filter((model) => format.offers(model));
  if (asked === undefined) return json(format.listModels(offered, query));
  // What is answered for a vendor's model is listed too: clients look a model up before they ask it.
  const vendors = isVendorModel(asked, rules) ? { id: asked, title: asked, draws: drawsByName(asked) } : undefined;
  const found = offered.find(({ id }) => id === asked) ?? vendors;
  if (found) return json(format.describeModel(found));
  const shown = asked.slice(0, 100);
  if (rules) throw rules.unknownModel(shown, target);
  throw format.unknownModel(
    shown,
    namesOfModels((model) => format.offers(model)),
  );
}

function json(body: object): Reply {
  return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body: JSON.stringify(body) };
}
