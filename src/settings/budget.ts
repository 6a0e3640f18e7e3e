import { resolve } from 'node:path';
import { usageError } from '../errors.ts';

/** A budget as it is typed: `team:20/month`. Its groups are the name or path, the amount and the period. */
export const budgetForm = /^([^:].*):(?=[0.]*[1-9])(\d{1,12}(?:\.\d{1,12})?)(?:\/(day|month))?$/;

/** In place of a budget: there is none, whatever a profile says. */
export const noBudget = 'none';

/** A limit of costs that runs share. */
export interface BudgetSetting {
  /** A name in the state folder, or a path. */
  place: string;
  amount: string;
  per: 'day' | 'month' | undefined;
}

/** Reads a budget. Throws GatewayError usage that names where it is from. */
export function parseBudget(text: string, from: string): BudgetSetting {
  const [, place, amount, per] = budgetForm.exec(text.trim()) ?? [];
  if (place !== undefined && amount !== undefined) return { place, amount, per: per as BudgetSetting['per'] };
  throw usageError(
    `${from}: not a budget: ${JSON.stringify(text.slice(0, 60))}`,
    'write <name|path>:<amount>, with /day or /month if it has a period: --budget team:20/month',
  );
}

/** Whether a budget is a file, and not a name in the state folder. */
export function isBudgetPath(place: string): boolean {
  return /[\\/]/.test(place) || place.endsWith('.jsonl');
}

/** The same budget for a program that runs in another folder. */
export function absoluteBudget(text: string, cwd: string): string {
  const [, place] = budgetForm.exec(text.trim()) ?? [];
  return place !== undefined && isBudgetPath(place) ? resolve(cwd, place) + text.trim().slice(place.length) : text;
}
