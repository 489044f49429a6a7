// The address of an API server and our credentials there. Credentials and certificate authorities are read when a request is made: a service account's token is replaced every hour while processes run,
// and a certificate authority from time to time.

export interface ShownCredential {
  readonly token?: string | undefined;
  readonly password?: { readonly name: string; readonly word: string } | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface Credentials {
  /** The present credential; a promise only where it has to be waited for. `refused`: this one was answered with 401. */
  get(refused?: ShownCredential): ShownCredential | Promise<ShownCredential>;
}

export interface Access {
  /** Without a slash at its end. */
  readonly server: string;
  /** PEM text. undefined: the authorities that Node knows. */
  readonly ca: () => string | undefined;
  readonly servername?: string | undefined;
  readonly skipsVerification: boolean;
  readonly credentials: Credentials;
  /** The namespace of the context, or of the pod. */
  readonly namespace: string | undefined;
  /** "kubeconfig FILE", for messages. */
  readonly origin: string;
}
