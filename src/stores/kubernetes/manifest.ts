// The rights that candidates need, as a manifest for kubectl: one Role in one namespace. `conclave schema kubernetes` prints it, and a refusal for a missing right names that command.
//
// get, create, update of Leases is what an election needs; list finds what a candidate may have left behind; watch wakes those who wait. get of the namespace itself is for
// its uid, in which tokens compare: a Role may grant that for its own namespace. Nothing is deleted and nothing is patched, so neither right is asked for.

export interface ManifestOptions {
  readonly namespace: string;
  /** The service account of the pods. */
  readonly serviceAccount: string;
}

export function rbacManifest({ namespace, serviceAccount }: ManifestOptions): string {
  return `# The rights of candidates in the namespace ${namespace}: kubectl apply -f -
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: conclave
  namespace: ${namespace}
rules:
  - apiGroups: ["coordination.k8s.io"]
    resources: ["leases"]
    verbs: ["get", "list", "watch", "create", "update"]
  # Its uid: tokens of one namespace compare with each other.
  - apiGroups: [""]
    resources: ["namespaces"]
    verbs: ["get"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: conclave-${serviceAccount}
  namespace: ${namespace}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: conclave
subjects:
  - kind: ServiceAccount
    name: ${serviceAccount}
    namespace: ${namespace}
`;
}

/** The command, for messages. */
export function grantCommand(namespace: string): string {
  return `npx conclave schema kubernetes --namespace ${namespace} --grant SERVICEACCOUNT | kubectl apply -f -`;
}
