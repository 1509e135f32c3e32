package store

import "causeway.internal/libs/idempotency"

// Statements are all statements of this package.
var Statements = []string{
	bySecretSQL, byPublicSQL, placeSQL, shardSQL, insertKeySQL, insertSecretSQL, insertAuditSQL, revokeSQL, getSQL, listSQL, usedSQL, prepareAuditSQL, insertSignedSQL, findSignedSQL,
	rotateSignedSQL, lockKeySQL, updateKeySQL, forgetSecretsSQL, endOldestSQL, endCurrentSQL,
	actsSQL, actsByActorSQL, actsOfObjectSQL, appendActsSQL, staleKeysSQL, resealSQL, idempotency.StaleSQL,
	tokensByDigestSQL, tokenUsedSQL, getTokenSQL, lockTokenSQL, listTokensSQL, lockPersonSQL, heldTokensSQL, insertTokenSQL, replaceTokenSQL,
	consoleSQL, insertConsoleSQL, passkeysOfSQL, heldPasskeysSQL, insertPasskeySQL, revokePasskeySQL, getPasskeySQL, listPasskeysSQL,
	getMerchantSQL, lockMerchantSQL, insertMerchantSQL, updateMerchantSQL, shareMerchantSQL, statusSQL, countKeysSQL, draftMerchantSQL,
	listMerchantsSQL, moveFromSQL, moveSQL, untoldSQL, toldSQL, tellAgainSQL, waitingSQL, logoSQL,
	skipIDsSQL, revokeTokenSQL, askedSQL, askSQL, confirmSQL, withdrawSQL, forgetApprovalsSQL,
}
