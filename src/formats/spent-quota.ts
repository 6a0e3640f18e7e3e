const spentNames = new Set([
  'insufficient_quota',
  'insufficient_user_quota',
  'pre_consume_token_quota_failed',
  'enforced_spend_limit_reached',
  'credit_balance_exhausted',
  'credit_balance_too_low',
  'billing_hard_limit_reached',
  'billing_error',
]);

const spentWords = ['credit balance is too low', 'enforced_spend_limit_reached', 'insufficient_quota', 'perday'];

/** Whether an error says that money or a day's quota is spent, so that waiting a minute is no use. */
export function saysSpent(names: readonly (string | undefined)[], message: string): boolean {
  if (names.some((name) => name !== undefined && spentNames.has(name.toLowerCase()))) return true;
  const text = message.toLowerCase();
  return spentWords.some((words) => text.includes(words));
}
