// Where an API server is and who we are there. What is shown with a request is read when the request is made: a service account's token is replaced every hour while
// processes run, and a certificate authority from time to time.

export interface ShownCredential {
  readonly token?: string | undefined;
  readonly password?: { readonly name: string; readonly word: string } | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface Credentials {
  /** `isRefused`: what was shown last was answered with 401. */
  get(isRefused: boolean): Promise<ShownCredential>;
}

export interface Access {
  /** Without a slash at its end. */
  readonly server: string;
  /** PEM. undefined: those that Node knows. */
  readonly ca: () => string | undefined;
  readonly servername?: string | undefined;
  readonly skipsVerification: boolean;
  readonly credentials: Credentials;
  /** Of the context, or of the pod. */
  readonly namespace: string | undefined;
  /** "kubeconfig FILE", for messages. */
  readonly origin: string;
}
