/**
 * The meaning of a finish reason or a stop reason: the answer is whole; it goes on with another request; the service still makes
 * it; a limit cut it; the service stopped it; or no one knows.
 */
export type ReasonMeaning = 'complete' | 'unfinished' | 'running' | 'cut' | 'stopped' | 'unknown';

// content: `FinishReason` of npm @google/genai 3.3.0 (November 2026). messages: `StopReason` of npm @anthropic-ai/sdk 1.14.0
// (2026-11-24). completions: `finish_reason` of npm openai 7.57.0 (2026-11-13), and of OpenRouter, which adds
// `error`. responses: the status of a reply, or the reason in its `incomplete_details` (the same package).
const meanings: Readonly<Record<Exclude<ReasonMeaning, 'unknown'>, string>> = {
  complete: 'stop end_turn stop_sequence tool_use tool_calls function_call completed',
  // The service made a pause, and goes on if it is asked to: neither an end nor an error.
  unfinished: 'continuation pause_turn',
  // The responses format answers a request with `background` at once with these.
  running: 'queued in_progress',
  cut: 'max_tokens model_context_window_exceeded length max_output_tokens max_messages steered',
  stopped: [
    'safety recitation language other blocklist prohibited_content spii model_armor jailbreak',
    'image_safety image_prohibited_content image_recitation image_other no_image',
    'malformed_function_call malformed_response missing_thought_signature unexpected_tool_call too_many_tool_calls',
    // The account is limited (`PUP_LIMITED_DISABLED`), or someone else has to decide (`ESCALATION`).
    'escalation pup_limited_disabled',
    'refusal content_filter error',
  ].join(' '),
};

const byReason = new Map(
  (Object.keys(meanings) as (keyof typeof meanings)[]).flatMap((meaning) =>
    meanings[meaning].split(' ').map((reason) => [reason, meaning] as const),
  ),
);

/** The meaning of a reason. All formats share one table: gateways translate one into another, and change upper and lower case. */
export function classifyReason(reason: string): ReasonMeaning {
  return byReason.get(reason.toLowerCase()) ?? 'unknown';
}

/** Whether an answer that ended so goes on with another request. */
export function isUnfinished(reason: string | undefined): boolean {
  return reason !== undefined && classifyReason(reason) === 'unfinished';
}
