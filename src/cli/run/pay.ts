import type { Payment } from '../../client/payment.ts';
import type { PayingSender } from '../../client/send.ts';
import type { SettingsSurvey } from '../../settings/types.ts';
import type { Context } from '../context.ts';
import type { ConnectionFlags } from './settings.ts';

/** How the requests of each gateway are paid for. Nothing is loaded where no budget is set. */
export async function openBudgets(
  gateways: readonly { settings: SettingsSurvey }[],
  { tag }: ConnectionFlags,
  context: Context,
): Promise<PayingSender['pay'][]> {
  if (gateways.every(({ settings }) => settings.budget === undefined)) return [];
  const { openBudget, payFrom } = await import('./budget.ts');
  const budgets = [];
  for (const { settings } of gateways) budgets.push(await openBudget(settings, tag, context));
  return budgets.map((budget) => budget && ((operation) => payFrom(budget, operation)));
}

/** An attempt that is not paid for is not sent. */
export function countUnpaid<P extends Pick<Payment, 'reserve'>>(payment: P, { report }: Context): P {
  return {
    ...payment,
    reserve: (signal) =>
      payment.reserve(signal).catch((error: unknown) => {
        report.attempts--;
        throw error;
      }),
  };
}
