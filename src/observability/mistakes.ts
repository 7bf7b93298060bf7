// Which errors are a mistake of ours, and so are shown with their stack; all others are one line for the operator.

const MISTAKES = [TypeError, ReferenceError, RangeError, SyntaxError];

export function isMistake(error: Error): boolean {
  return MISTAKES.some((mistake) => error instanceof mistake);
}
