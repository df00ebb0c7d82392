// Calls of the Connect API through its official SDK: one on each line of standard input, as JSON, answered by a line each.
//
// A call is the chain of the SDK's methods: [["connectors"], ["withKey", {"key": "tax"}], ["get"]].
"use strict";

const { createInterface } = require("node:readline");
const { createApiClient } = require("@commercetools-connect/sdk");
const { ClientBuilder } = require("@commercetools/ts-client");

const { url, projectKey, clientId, clientSecret, scopes } = JSON.parse(process.argv[2]);

const client = new ClientBuilder()
  .withClientCredentialsFlow({ host: url, projectKey, credentials: { clientId, clientSecret }, scopes, httpClient: fetch })
  .withHttpMiddleware({ host: url, httpClient: fetch })
  .build();
const root = createApiClient((request) => client.execute(request), url);

async function answer(chain) {
  try {
    const request = chain.reduce((builder, [method, parameters]) => builder[method](parameters), root);
    const { statusCode, body } = await request.execute();
    return { statusCode, body };
  } catch (error) {
    return { statusCode: error.statusCode ?? 0, error: error.name, message: error.message, body: error.body };
  }
}

(async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(JSON.stringify(await answer(JSON.parse(line))));
  }
})();
