// The table of `dynamodb:` as an owner makes it: one text as the key, and an index of seats by the session that holds them. As CloudFormation, and as a command
// of the aws tool. Reads and writes of an election cost the same whatever else is in the table.
//
// The table's time-to-live attribute is one that sessions and scouts have and no seat ever gets: a deleted seat would forget its token, a deleted session forgets nothing (shelf.ts, 5).

/** The table's key. The AWS lock client has the same by default. */
export const KEY = "key";
/** Seats by the session that holds them: finds what a lost answer has left behind. */
export const HELD_INDEX = "conclave-held";
export const HELD_BY = "heldBy";
/** Of sessions and scouts alone: from when on AWS may remove the item, in seconds since 1970. */
export const GONE_AT = "goneAt";
/** How long the item of a session stays after its ttl has run out: far longer than a request can be late. */
const KEPT_SECONDS = 86_400;

export function goneAt(now: Date, ttlMs: number): { readonly [GONE_AT]: { readonly N: string } } {
  return { [GONE_AT]: { N: `${Math.ceil((now.getTime() + ttlMs) / 1000) + KEPT_SECONDS}` } };
}

export interface TablePlace {
  readonly table: string;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
}

/** One line for a shell. */
export function makingCommand({ table, region, endpoint }: TablePlace): string {
  const where = `${region === undefined ? "" : ` --region ${region}`}${endpoint === undefined ? "" : ` --endpoint-url ${endpoint}`}`;
  return [
    `aws dynamodb create-table --table-name ${table}${where} --billing-mode PAY_PER_REQUEST --deletion-protection-enabled`,
    `--attribute-definitions AttributeName=${KEY},AttributeType=S AttributeName=${HELD_BY},AttributeType=S`,
    `--key-schema AttributeName=${KEY},KeyType=HASH`,
    `--global-secondary-indexes 'IndexName=${HELD_INDEX},KeySchema=[{AttributeName=${HELD_BY},KeyType=HASH}],Projection={ProjectionType=KEYS_ONLY}'`,
  ].join(" ");
}

/** With this AWS removes the items of sessions that have been silent for a day, at no charge. The command works once the table is there. */
export function removingCommand({ table }: TablePlace): string {
  return `aws dynamodb update-time-to-live --table-name ${table} --time-to-live-specification Enabled=true,AttributeName=${GONE_AT}`;
}

/** YAML, with the command as a comment before it, so that either can be taken. */
export function templateText(table: string, policy: object): string {
  return `# The table of conclave's elections. As commands:
#
#   ${makingCommand({ table })}
#   aws dynamodb wait table-exists --table-name ${table}
#   ${removingCommand({ table })}
#
# or as CloudFormation:
#
#   npx conclave schema dynamodb --table ${table} > conclave.yaml
#   aws cloudformation deploy --template-file conclave.yaml --stack-name ${table}
#
# Candidates then use dynamodb://${table}?region=REGION and need these rights:
#
#   ${JSON.stringify(policy)}
#
# Never give this table replicas in other regions (a global table). Time to live is for ${GONE_AT} alone, which only sessions have: on another attribute it would remove seats.
AWSTemplateFormatVersion: "2010-09-09"
Description: The table of conclave's elections
Resources:
  ConclaveTable:
    Type: AWS::DynamoDB::Table
    DeletionPolicy: Retain
    UpdateReplacePolicy: Retain
    Properties:
      TableName: ${table}
      BillingMode: PAY_PER_REQUEST
      DeletionProtectionEnabled: true
      AttributeDefinitions:
        - { AttributeName: ${KEY}, AttributeType: S }
        - { AttributeName: ${HELD_BY}, AttributeType: S }
      KeySchema:
        - { AttributeName: ${KEY}, KeyType: HASH }
      GlobalSecondaryIndexes:
        - IndexName: ${HELD_INDEX}
          KeySchema:
            - { AttributeName: ${HELD_BY}, KeyType: HASH }
          Projection: { ProjectionType: KEYS_ONLY }
      TimeToLiveSpecification: { AttributeName: ${GONE_AT}, Enabled: true }
Outputs:
  Table:
    Value: !Ref ConclaveTable
`;
}
