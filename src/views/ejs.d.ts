// The part of EJS 7 that pages use; the package ships no types. Owns no more than that: an option that isn't here can't
// be passed.
declare module 'ejs' {
  export type CompileOptions = {
    readonly filename: string;
    readonly strict: true;
    readonly compileDebug: true;
    readonly destructuredLocals: readonly string[];
  };
  const ejs: { compile(text: string, options: CompileOptions): (locals: object) => string };
  export { ejs as default };
}
