import { GatewayError } from '../../errors.ts';

/** For `catch`: a mistake is told behind the flag that it was made in; any other failure stays as it is. */
export function behind(flag: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof GatewayError) || error.class !== 'usage') throw error;
    const { message, details, cause } = error;
    throw new GatewayError('usage', `${flag}${message}`, { ...details, cause });
  };
}
