/** Fields by their last name, without `_` and in lower case, as both formats spell them. */
const flagsOfFields = new Map([
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
  return names.map((name) => flagsOfFields.get(name)).findLast((flag) => flag !== undefined);
}

/** Fields of the content format that only `--set` reaches. */
const contentFields = [
  'generationConfig.presencePenalty',
  'generationConfig.frequencyPenalty',
  'generationConfig.responseLogprobs',
  'generationConfig.logprobs',
  'generationConfig.responseModalities',
  'generationConfig.responseSchema',
  'generationConfig.mediaResolution',
  'generationConfig.speechConfig',
  'generationConfig.enableEnhancedCivicAnswers',
  'generationConfig.thinkingConfig',
  'generationConfig.thinkingConfig.includeThoughts',
  'generationConfig.thinkingConfig.thinkingBudget',
  'generationConfig.thinkingConfig.thinkingLevel',
  'generationConfig.imageConfig.personGeneration',
  'generationConfig.imageConfig.prominentPeople',
  'generationConfig.imageConfig.outputMimeType',
  'generationConfig.imageConfig.outputCompressionQuality',
  'serviceTier',
  'store',
  'labels',
];

/** The same of the messages format. */
const messagesFields = [
  'thinking.budget_tokens',
  'thinking.display',
  'output_config.effort',
  'output_config.format',
  'service_tier',
  'cache_control',
  'container',
  'context_management',
  'inference_geo',
  'mcp_servers',
  'speed',
];

/** How `--set` writes the field that an unknown flag of a command names: `--presence-penalty`, `--thinkingBudget`. */
export function settingFor(flag: string, command: string): string | undefined {
  const typed = plain(flag);
  const fields = command === 'chat' ? messagesFields : /^(text|image)/.test(command) ? contentFields : [];
  const field =
    fields.find((path) => plain(path.split('.').at(-1) ?? '') === typed) ??
    fields.find((path) => typed.length > 7 && plain(path.split('.').slice(-2).join('')).startsWith(typed));
  if (field === undefined) return undefined;
  const before = field === 'thinking.budget_tokens' ? '--set thinking.type=enabled ' : '';
  return `${before}--set ${field}=…`;
}

function plain(name: string): string {
  return name.replaceAll(/[-_]/g, '').toLowerCase();
}
