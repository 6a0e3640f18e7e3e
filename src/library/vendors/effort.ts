/** How much a model thinks before it answers, from nothing to the most: one word for the different words of the vendors. */
export const effortNames = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Effort = (typeof effortNames)[number];

/** The efforts that a model takes, by its name or by the list of its service. */
export interface ModelEfforts {
  takes: readonly Effort[];
  /** The value that turns thinking off in the messages format, if it is not `disabled`. */
  off?: 'between_tools' | undefined;
}

/** The efforts of one family of models; for every other model, the service decides. */
interface EffortRule extends ModelEfforts {
  models: RegExp;
  /** The model takes a number of tokens in place of a word: the numbers are this program's choice, within the model's limits. */
  budgets?: Readonly<Partial<Record<Effort, number>>>;
}

const lowToHigh = ['low', 'medium', 'high'] as const;
const lowToMax = [...lowToHigh, 'xhigh', 'max'] as const;
const flashBudgets = { none: 0, minimal: 512, low: 1024, medium: 8192, high: 24_576, xhigh: 24_576, max: 24_576 };
const { none: _, ...fromMinimal } = flashBudgets;

/** The first row that fits counts. Names are those of the vendors, without a path before them and a version behind them. */
const rules: readonly EffortRule[] = [
  // OpenAI: npm openai 7.57.0 (2026-11-13), @ai-sdk/openai 4.0.118, models.dev @f3fc6922 (2026-07-02), the pages of its models.
  { models: /^gpt-(?:6\.2-(?:astra|sol)|6-astra|6\.1-sol)$/, takes: lowToMax },
  { models: /^gpt-(?:6-(?:luna|sol)|6\.1-terra|5\.6(?:-[a-z]+)?)$/, takes: ['none', ...lowToMax] },
  { models: /^gpt-5\.[45]$/, takes: ['none', ...lowToHigh, 'xhigh'] },
  { models: /^gpt-5\.[123]$/, takes: ['none', ...lowToHigh] },
  { models: /^gpt-5(?:-mini|-nano)?$/, takes: ['minimal', ...lowToHigh] },
  { models: /^o[134](?:-mini)?$/, takes: lowToHigh },
  // Anthropic: npm @anthropic-ai/sdk 1.14.0 (2026-11-24), platform.claude.com and openrouter.ai on 5.5 (2026-11).
  { models: /^claude-(?:opus-5-5|fable-5(?:-\d)?)$/, takes: lowToMax },
  { models: /^claude-sonnet-5-5$/, takes: ['none', ...lowToMax], off: 'between_tools' },
  { models: /^claude-haiku-5-5$/, takes: ['none', ...lowToMax] },
  { models: /^claude-(?:opus|sonnet)-4-6$/, takes: ['none', ...lowToHigh, 'max'] },
  { models: /^claude-haiku-4-5$/, takes: ['none'] },
  // Google: npm @google/genai 3.3.0, @ai-sdk/google 4.0.121 (2026-11-13), ai.google.dev and docs.cloud.google.com (2026-11).
  { models: /^gemini-4-(?:hydrogen|neon)$/, takes: [...lowToHigh, 'xhigh'] },
  { models: /^gemini-(?:4-(?:argon|carbon)|3\.[78]-flash)$/, takes: lowToHigh },
  { models: /^gemini-3(?:\.[1-5])?-flash(?:-lite)?(?:-preview)?$/, takes: ['minimal', ...lowToHigh] },
  { models: /^gemini-3(?:\.\d)?-pro(?:-preview)?$/, takes: lowToHigh },
  { models: /^gemini-3\.1-flash-image$|^gemma-4(?:-|$)/, takes: ['minimal', 'high'] },
  { models: /^gemini-2\.5-flash(?:-lite)?$/, takes: effortNames, budgets: flashBudgets },
  { models: /^gemini-2\.5-pro$/, takes: effortNames.slice(1), budgets: { ...fromMinimal, max: 32_768 } },
];

/** The efforts of a model by its name; undefined for an unknown model. */
export function findEffortRule(model: string): EffortRule | undefined {
  const name = model
    .slice(model.lastIndexOf('/') + 1)
    .toLowerCase()
    .replace(/(?:[-@](?:\d{3}|\d{8}|\d{4}-\d{2}-\d{2}))$/, '');
  return rules.find(({ models }) => models.test(name));
}

/**
 * Ollama's words in its `/v1` for other efforts (ollama docs/api/openai-compatibility.mdx @043e9900, models.dev): it takes none,
 * low, medium, high and max.
 */
export const ollamaEfforts: Readonly<Partial<Record<Effort, Effort>>> = { minimal: 'low', xhigh: 'max' };

/** The words that are efforts, in the order of `effortNames`. */
export function listEfforts(words: readonly unknown[]): Effort[] {
  return effortNames.filter((name) => words.includes(name));
}

/** The fields of a body that `--effort` becomes, in all formats. */
export const encodedEffortFields = [
  'reasoning_effort',
  'reasoning.effort',
  'output_config.effort',
  'thinking.type',
  'generationConfig.thinkingConfig.thinkingLevel',
  'generationConfig.thinkingConfig.thinkingBudget',
];

/** All fields that say how much the model thinks. */
const effortFields = [
  ...encodedEffortFields,
  'reasoning.max_tokens',
  'reasoning.enabled',
  'thinking.budget_tokens',
  'enable_thinking',
  'chat_template_kwargs',
];

/** The field of a body that says how much the model thinks, if one does. */
export function findEffortField(body: object): string | undefined {
  return effortFields.find((path) => {
    let value: unknown = body;
    for (const step of path.split('.'))
      value = typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[step] : undefined;
    return value !== undefined;
  });
}

/** The efforts in the message of a refusal, which lists those that the model takes, in the order of `effortNames`. */
export function findEffortsIn(message: string): Effort[] {
  const list = /(?:supported|allowed|valid|possible) values(?: are)?|should be|must be one of/i.exec(message);
  if (list === null) return [];
  const words = new Set(
    message
      .slice(list.index)
      .toLowerCase()
      .match(/[a-z]+/g),
  );
  return effortNames.filter((name) => words.has(name));
}
