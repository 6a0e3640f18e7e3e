/**
 * What a finish reason or a stop reason says of an answer: it is whole, a limit cut it, the service stopped it, or nobody
 * knows.
 */
export type Ending = 'complete' | 'cut' | 'stopped' | 'unknown';

const complete = ['stop', 'end_turn', 'stop_sequence', 'tool_use', 'pause_turn', 'tool_calls', 'function_call'];

const cut = ['max_tokens', 'model_context_window_exceeded', 'length'];

const stopped = [
  'safety',
  'recitation',
  'language',
  'other',
  'blocklist',
  'prohibited_content',
  'spii',
  'malformed_function_call',
  'malformed_response',
  'missing_thought_signature',
  'unexpected_tool_call',
  'too_many_tool_calls',
  'image_safety',
  'image_prohibited_content',
  'image_recitation',
  'image_other',
  'no_image',
  'model_armor',
  'jailbreak',
  'refusal',
  'content_filter',
];

const endings = new Map<string, Ending>([
  ...complete.map((reason) => [reason, 'complete'] as const),
  ...cut.map((reason) => [reason, 'cut'] as const),
  ...stopped.map((reason) => [reason, 'stopped'] as const),
]);

/** Both formats share one table: gateways translate one into the other, and keep the case of neither. */
export function endingOf(reason: string): Ending {
  return endings.get(reason.toLowerCase()) ?? 'unknown';
}

/** Whether the model itself would not answer. */
export function isRefusal(reason: string | undefined): boolean {
  return reason === 'refusal' || reason === 'content_filter';
}
