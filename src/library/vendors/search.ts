// content: `GoogleSearch` of npm @google/genai 3.3.0 (November 2026). messages: `WebSearchTool20250305` of npm @anthropic-ai/sdk 1.14.0
// (2026-11-24), the version that most models take: newer ones run the search by code. responses: `WebSearchTool` of npm openai 7.57.0
// (2026-11-13), which xAI (npm @ai-sdk/xai 5.0.12) and Perplexity (npm @perplexity-ai/perplexity_ai 0.38.5) have, too. OpenRouter:
// `openrouter:web_search` of npm @openrouter/sdk 1.3.19, in place of its plugins and of `:online`.
/** The service's own tool for a search, as each format has it. */
export const searchTools = {
  content: { googleSearch: {} },
  messages: { type: 'web_search_20250305', name: 'web_search' },
  responses: { type: 'web_search' },
  openrouter: { type: 'openrouter:web_search' },
} as const;

/** Names the pages that a search of the responses format read: `ResponseIncludable` of npm openai 7.57.0. */
export const searchedPages = 'web_search_call.action.sources';
