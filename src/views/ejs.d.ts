// The part of EJS 7 that the templates use; the package ships no types.
declare module 'ejs' {
  export type CompileOptions = {
    readonly filename: string;
    readonly strict?: true;
    readonly compileDebug?: true;
    readonly destructuredLocals?: readonly string[];
  };
  const ejs: { compile(text: string, options: CompileOptions): (locals: object) => string };
  export { ejs as default };
}
