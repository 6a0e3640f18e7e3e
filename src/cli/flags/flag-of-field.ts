const flags = new Map([
  ['aspectratio', '--aspect'],
  ['cachedcontent', '--cached-content'],
  ['candidatecount', '--candidates'],
  ['imagesize', '--size'],
  ['maxoutputtokens', '--max-tokens'],
  ['maxtokens', '--max-tokens'],
  ['metadata', '--metadata'],
  ['responsejsonschema', '--schema'],
  ['responsemimetype', '--response-mime'],
  ['safetysettings', '--safety'],
  ['seed', '--seed'],
  ['stopsequences', '--stop'],
  ['system', '--system'],
  ['systeminstruction', '--system'],
  ['temperature', '--temperature'],
  ['toolchoice', '--tool-choice'],
  ['toolconfig', '--tool-config'],
  ['tools', '--tools'],
  ['topk', '--top-k'],
  ['topp', '--top-p'],
]);

/** The flag behind a field (`generation_config.stop_sequences[0]`), in the spelling of either format. */
export function flagOfField(field: string): string | undefined {
  const names = field.split(/[.[\]]/).map((name) => name.replaceAll('_', '').toLowerCase());
  return names.map((name) => flags.get(name)).findLast((flag) => flag !== undefined);
}
