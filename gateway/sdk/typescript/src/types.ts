// Generated from gateway/openapi.yaml by make docs. Do not edit.

import type { Decimal, DecimalInput } from './decimal.js';

export interface AddressBookAnswer {
  addresses: AddressBookEntry[];
  pagination: Pagination;
  success: true;
}

export interface AddressBookEntry {
  address: string;
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  id: string;
  label: string;
  network: string;
  /** ISO 8601, UTC, with milliseconds. */
  usableAt: string;
}

export interface AddressBookEntryAnswer {
  address: AddressBookEntry;
  success: true;
}

export interface AddressBookEvent {
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  data: {
    address: {
      address: string;
      /** ISO 8601, UTC, with milliseconds. */
      createdAt: string;
      id: string;
      label: string;
      network: string;
      sequence: number;
      /** ISO 8601, UTC, with milliseconds. */
      usableAt: string;
    };
  };
  id: string;
  mode: Mode;
  type: 'wallet.address_added';
}

export interface AddressRemovedAnswer {
  success: true;
}

export interface BalancesAnswer {
  balances: {
    /** A canonical decimal. */
    available: string;
    crypto: string;
    network: string;
    /** A canonical decimal. */
    pending: string;
    /**
     * The sum that withdrawals have taken beyond the balance, after its chain took a deposit back. Absent
     * otherwise.
     */
    missing?: string;
  }[];
  success: true;
  /** For a key that has `payment:read`. */
  fiat?: {
    /** Below zero where a person has booked more to the merchant than was owed. */
    available: Decimal;
    currency: FiatCurrency;
    pending: Decimal;
  }[];
}

export interface BankListAnswer {
  banks: {
    code: string;
    currency: FiatCurrency;
    name: string;
  }[];
  success: true;
}

export interface ChangeSettlementSettings {
  daily?: readonly ChooseDailySettlement[] | null | undefined;
  /**
   * `self`: the caller pays out and confirms with a token; `balance`: the money goes into the merchant's
   * balance.
   */
  merchantPayments?: 'self' | 'balance' | null | undefined;
}

/**
 * The fee, in three units. Once the money is converted, GET and events show the taken fee: if more or less than
 * the quote is paid out, it is the fee of the converted amount.
 */
export interface Charge {
  crypto: Decimal;
  fiat: Decimal;
  usd: Decimal;
}

export interface CheckoutAnswer {
  payment: {
    confirmations: number;
    exception: PaymentException;
    /** ISO 8601, UTC, with milliseconds. */
    expiresAt: string;
    fiatAmount: Decimal;
    fiatCurrency: FiatCurrency;
    mode: Mode;
    receivedAmount: Decimal;
    /**
     * The code of a shard, which is always the same for you, and twelve random characters; references from
     * before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
     * Every holder of its reference can claim the gift, so neither log nor show it.
     */
    reference: string;
    settledAt: string | null;
    status: PaymentStatus;
    /**
     * Something is owed to the payer, who may propose an address for it. See POST
     * /v1/checkout/{reference}/refund-address.
     */
    takesRefundAddress: boolean;
    /**
     * True while naming the paying transaction may help: on this network the service may not see coin from a
     * smart wallet, a contract or an exchange by itself. See POST /v1/checkout/{reference}/transaction.
     */
    takesTransactionHash: boolean;
    txHash: string;
    type: PaymentType;
    charge?: Charge;
    /** Of a gift. */
    claimed?: boolean;
    crypto?: string;
    cryptoAmount?: Decimal;
    depositAddress?: string;
    /** As the create sent it. */
    description?: string;
    /**
     * The sum of transfers that are too small to begin a payment and do not count so far. They count once a
     * larger transfer has begun it. Absent when there are none.
     */
    ignoredAmount?: Decimal;
    /** As the create sent it. */
    locale?: string;
    /** As the create sent it. */
    merchantReference?: string;
    network?: string;
    /** The price now of a request that is not fulfilled yet, on each open network whose minimum it meets. */
    options?: {
      crypto: string;
      cryptoAmount: Decimal;
      network: string;
      rate: Decimal;
    }[];
    paymentUri?: string;
    payoutAmount?: Decimal;
    preferred?: PaymentPreferred;
    rate?: Decimal;
    /** The address to which money of the payment goes back. The merchant set it, or a proposal was confirmed. */
    refundAddress?: string;
    /**
     * No refund leaves before this time. Each change of the refund address of a live payment sets it, 24 hours
     * ahead by default. Test mode has none.
     */
    refundAddressHeldUntil?: string;
    /** The address that the payer proposes. It has no effect until the merchant or an operator confirms it. */
    refundAddressProposed?: string;
    /** The refunds of the payment, oldest first; absent without one. */
    refunds?: Refund[];
    /** The amount that the payer still has to send; 0 once enough has come. */
    remainingAmount?: Decimal;
    requiredConfirmations?: number;
    /** As the create sent it. */
    returnUrl?: string;
    transactionUsd?: Decimal;
  };
  success: true;
}

export interface ChooseDailySettlement {
  currency: FiatCurrency;
  /** At most two decimal places. */
  minimum: DecimalInput;
  settlementAccountId: string;
}

/** Unknown fields are ignored, `accountName` and `bankName` among them. */
export interface ClaimGift {
  receiver: {
    accountNumber: string;
    bankCode: string;
  };
}

/**
 * `track_transaction`: somebody looks for a transaction; `stolen_funds`: money was stolen; `fraud`: somebody
 * deceived the reporter.
 */
export type ComplaintType = 'track_transaction' | 'stolen_funds' | 'fraud';

export interface ConfirmSettlementAccount {
  accountNumber: string;
}

/** Unknown fields are ignored. null, and an empty string where a field is optional, mean not supplied. */
export interface CreatePayment {
  fiatCurrency: FiatCurrency;
  type: PaymentType;
  /** `bank_confirmation` only. */
  bankRef?: string | null | undefined;
  /** Where status events are posted. Live mode: https only. */
  callbackUrl?: string | null | undefined;
  /**
   * `fiat`: the fee is taken from the payout; `crypto`: it is added to the crypto amount. Required for
   * `transfer`.
   */
  chargeFrom?: 'fiat' | 'crypto' | '' | null | undefined;
  /** Required except for `request`. Read without regard to case. */
  crypto?: string | null | undefined;
  /** Crypto first; not with `request`, and not together with `fiatAmount`. At most eight digits after the point. */
  cryptoAmount?: DecimalInput | null | undefined;
  /** The goods or the service, in words for the payer; one line on the pay page. */
  description?: string | null | undefined;
  /** Required unless `cryptoAmount` is given. At most two digits after the point. */
  fiatAmount?: DecimalInput | null | undefined;
  /**
   * Language tag of the payer, such as `fr`, for the pay page. The browser's language is taken for one that the
   * page does not have.
   */
  locale?: string | null | undefined;
  /**
   * Your own name of what is paid, such as an order number; on the pay page, in GET, events, settlements and
   * filters. Unique among your payments of the mode that are not expired, cancelled or refunded, else 409
   * `merchant_reference_used`.
   */
  merchantReference?: string | null | undefined;
  /** At most 8 KiB. */
  metadata?: Record<string, unknown> | null | undefined;
  /** Name or alias, as `crypto`: `tron` or `trc20`. */
  network?: string | null | undefined;
  /** Required for `transfer` and `gift`; not with `request`. */
  payer?: {
    chatId: string;
    phone?: string | null | undefined;
  } | null | undefined;
  /** Required for `transfer` and `request`; not with `gift` and `bank_confirmation`. */
  receiver?: {
    accountNumber: string;
    bankCode: string;
  } | null | undefined;
  /**
   * Page of the shop to which the pay page leads back; https without user information, in test mode also http on
   * localhost. The query gets `reference`, except of a gift.
   */
  returnUrl?: string | null | undefined;
}

/** Unknown fields are ignored. */
export interface CreateRefund {
  reason: string;
  /** Without it, everything that is owed in the asset. At most as many digits after the point as the asset has. */
  amount?: DecimalInput | null | undefined;
  /** Needed, with `network`, where several assets are owed. Read without regard to case. */
  crypto?: string | null | undefined;
  /** Name or alias: `tron` or `trc20`. */
  network?: string | null | undefined;
}

/** Unknown fields are ignored. null, and an empty string where a field is optional, mean not supplied. */
export interface CreateReport {
  complaintType: ComplaintType;
  /** Who files the report. */
  name: string;
  description?: string | null | undefined;
  /** The alleged fraudster's, 1 to 128 characters. */
  fraudsterWalletAddress?: string | null | undefined;
  /** Required unless `walletAddress` is given; 6 to 20 digits once cleaned. */
  phoneNumber?: string | null | undefined;
  /** Related payment reference, 1 to 64 characters. */
  sessionReference?: string | null | undefined;
  /** The reporter's own; required unless `phoneNumber` is given. 1 to 128 characters. */
  walletAddress?: string | null | undefined;
}

export interface CreateSettlementAccount {
  currency: FiatCurrency;
  receiver: {
    accountNumber: string;
    bankCode: string;
  };
}

export interface CreateWallet {
  crypto: string;
  /** A network or one of its aliases. */
  network: string;
  /** May have a fraction. */
  expiresInMinutes?: DecimalInput | null | undefined;
  /** Returned in webhooks; at most 8 KiB. */
  metadata?: Record<string, unknown> | null | undefined;
}

export interface CreateWithdrawal {
  /** At most two decimal places. */
  amount: DecimalInput;
  currency: FiatCurrency;
  settlementAccountId: string;
}

export interface DailySettlement {
  currency: FiatCurrency;
  /** At most two decimal places. */
  minimum: Decimal;
  settlementAccountId: string;
}

export interface EndpointEvent {
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  data: {
    endpoint: {
      /** `merchant`: a key disabled it; `gone`: it answered 410; `failing`: it failed for too long. */
      disabledReason: 'merchant' | 'gone' | 'failing' | null;
      enabled: boolean;
      failingSince: string | null;
      id: string;
      /** Counts the events of this endpoint: 1, 2, 3 without gaps. */
      sequence: number;
      url: string;
    };
  };
  id: string;
  mode: Mode;
  /** `webhook.endpoint_failing`, `webhook.endpoint_disabled`, or `webhook.test`, which was asked for. */
  type: 'webhook.endpoint_failing' | 'webhook.endpoint_disabled' | 'webhook.test';
}

export interface EventListAnswer {
  events: (PaymentEvent | WalletEvent | WithdrawalEvent | WalletWithdrawalEvent | SettlementAccountEvent | AddressBookEvent | ReportEvent | EndpointEvent)[];
  pagination: Pagination;
  success: true;
}

/** The name of an event: the object, a point, and the change of the object. */
export type EventTypeName = 'payment.created' | 'payment.pending' | 'payment.confirming' | 'payment.confirmed' | 'payment.settling' | 'payment.settled' | 'payment.expired' | 'payment.cancelled' | 'payment.needs_review' | 'payment.refunded' | 'payment.underpaid' | 'payment.overpaid' | 'payment.reorged' | 'payment.wrong_asset' | 'payment.refund_address_changed' | 'payment.refund_address_proposed' | 'payment.refund_requested' | 'payment.refund_approved' | 'payment.refund_signing' | 'payment.refund_sent' | 'payment.refund_confirmed' | 'payment.refund_failed' | 'withdrawal.requested' | 'withdrawal.approved' | 'withdrawal.sending' | 'withdrawal.paid' | 'withdrawal.failed' | 'withdrawal.returned' | 'settlement_account.added' | 'settlement_account.confirmed' | 'settlement_account.deleted' | 'wallet.watching' | 'wallet.deposit_detected' | 'wallet.confirmed' | 'wallet.swept' | 'wallet.expired' | 'wallet.address_added' | 'wallet.withdrawal_requested' | 'wallet.withdrawal_approved' | 'wallet.withdrawal_signing' | 'wallet.withdrawal_sent' | 'wallet.withdrawal_confirmed' | 'wallet.withdrawal_failed' | 'report.created' | 'report.updated' | 'webhook.endpoint_failing' | 'webhook.endpoint_disabled' | 'webhook.test';

/** ISO 4217: `NGN` naira of Nigeria, `GHS` cedi of Ghana, `KES` shilling of Kenya, `ZAR` rand of South Africa. */
export type FiatCurrency = 'NGN' | 'GHS' | 'KES' | 'ZAR';

/** Unknown fields are ignored. */
export interface FulfillRequest {
  /** Read without regard to case. */
  crypto: string;
  /** Name or alias: `tron` or `trc20`. */
  network: string;
  payer: {
    chatId: string;
    phone?: string | null | undefined;
  };
}

export interface GiftClaimedAnswer {
  message: 'Gift claimed successfully. Payout is being processed.';
  payment: {
    /** The one answer that shows the whole account number. */
    receiver: {
      /** As the bank gives it; empty where it gave none. */
      accountName: string;
      accountNumber: string;
      bankName: string;
    };
    /**
     * The code of a shard, which is always the same for you, and twelve random characters; references from
     * before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
     * Every holder of its reference can claim the gift, so neither log nor show it.
     */
    reference: string;
    status: 'settling';
  };
  success: true;
}

export interface LinkAnswer {
  link: PublicLink;
  success: true;
}

export interface LinkPayment {
  /** For a link of type merchant. */
  crypto?: string | null | undefined;
  /** Where the link has no amount. */
  fiatAmount?: DecimalInput | null | undefined;
  /** For a link of type merchant. */
  network?: string | null | undefined;
}

export interface MeAnswer {
  key: {
    allowedCidrs: string[];
    /** ISO 8601, UTC, with milliseconds. */
    createdAt: string;
    expiresAt: string | null;
    id: number;
    mode: Mode;
    name: string;
    publicKey: string;
  };
  limits: {
    burst: number | null;
    perSecond: number | null;
    tier: Tier;
  };
  merchant: {
    id: string;
  };
  permissions: string[];
  success: true;
}

/** The caller's own data. */
export type Metadata = Record<string, unknown>;

/** `live` moves real money; `test` runs on simulated chains and banks. Neither sees anything of the other. */
export type Mode = 'live' | 'test';

export interface NameTransaction {
  /** 0x and 64 hexadecimal digits. */
  txHash: string;
}

export interface NamedTransactionAnswer {
  message: string;
  success: true;
}

export interface NetworkListAnswer {
  limits: {
    fiatCurrency: FiatCurrency;
    maximum: Decimal;
    minimum: Decimal;
  }[];
  networks: {
    aliases: string[];
    /** Null where only finality counts. */
    confirmations: number | null;
    cryptos: {
      crypto: string;
      decimals: number;
      /**
       * The least payment, in the crypto; a smaller one is 400 `amount_below_minimum`. It is that of live mode
       * if live mode is enabled, else that of test mode. Null where none is enforced.
       */
      minimum: Decimal | null;
      /** The same for each mode. */
      minimums: {
        live: Decimal | null;
        test: Decimal | null;
      };
      /**
       * False if the service may not see this coin from a smart wallet, a contract or an exchange by itself. The
       * payer then names the transaction (POST /v1/checkout/{reference}/transaction).
       */
      seesContractTransfers: boolean;
    }[];
    /** The form of its addresses: `bitcoin`, `evm`, `tron` or `solana`. */
    family: 'bitcoin' | 'evm' | 'tron' | 'solana';
    /** A block that the network calls final is enough. */
    finality: boolean;
    /** Whether the network accepts new payments now, for each mode. */
    modes: {
      live: NetworkOpen;
      test: NetworkOpen;
    };
    network: string;
  }[];
  /** The pauses that operators have ordered. Null means all. */
  pauses: {
    fiatCurrency: string | null;
    network: string | null;
    paused: PausedPart;
    rail: string | null;
    /** ISO 8601, UTC, with milliseconds. */
    since: string;
  }[];
  success: true;
}

export interface NetworkOpen {
  /** While it is false, creating or fulfilling a payment on the network is a 503, mostly `network_unavailable`. */
  open: boolean;
  /**
   * Null while the network is open. `mode_disabled`: the mode takes no payments. `no_addresses`: the mode keeps
   * no addresses of this family. `paused`: an operator has paused quotes. `not_followed`: no scanner follows the
   * network. `silent`: its scanner reports nothing. `unreachable`: no node answers its scanner. `stalled`: the
   * chain makes no blocks. `behind`: the scan trails the chain. `halted`: the scan waits for an operator after a
   * deep reorganisation. `mismatched`: a setting differs from that of the issued addresses, or its assets have
   * other decimals than the stored amounts.
   */
  reason: 'mode_disabled' | 'no_addresses' | 'paused' | 'not_followed' | 'silent' | 'unreachable' | 'stalled' | 'behind' | 'halted' | 'mismatched' | 'cannot_be_judged' | null;
}

/** Unknown fields are ignored. */
export interface NewAddressBookEntry {
  address: string;
  /** A network or one of its aliases. */
  network: string;
  label?: string | null | undefined;
}

/** Unknown fields are ignored. */
export interface NewWalletWithdrawal {
  addressId: string;
  /**
   * The amount that arrives; a number, or a string that holds one. At most as many digits after the point as the
   * crypto has.
   */
  amount: DecimalInput | string;
  crypto: string;
  /** A network or one of its aliases. */
  network: string;
  /** The fee that the merchant has seen. Where another one holds now, the answer is a 409 `fee_changed`. */
  fee?: DecimalInput | string | null | undefined;
}

export interface Pagination {
  hasMore: boolean;
  limit: number;
  nextCursor: string | null;
}

/**
 * `quotes`: prices of new payments; `payouts`: money to banks; `refunds`: money back to payers, and withdrawals
 * of crypto.
 */
export type PausedPart = 'quotes' | 'payouts' | 'refunds';

export type Payment = PaymentFields;

export interface PaymentAnswer {
  payment: Payment;
  success: true;
}

/**
 * A payment as its merchant and operators read it. A request that is not fulfilled has none of depositAddress,
 * cryptoAmount, crypto, network, rate, charge, transactionUsd, payoutAmount.
 */
export interface PaymentCommon {
  confirmations: number;
  confirmedAt: string | null;
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  exception: PaymentException;
  /** ISO 8601, UTC, with milliseconds. */
  expiresAt: string;
  fiatAmount: Decimal;
  metadata: Metadata;
  receivedAmount: Decimal;
  settledAt: string | null;
  status: PaymentStatus;
  transfers: PaymentTransfer[];
  /** Empty until a transaction is seen. */
  txHash: string;
  /** As the create sent it. */
  bankRef?: string;
  charge?: Charge;
  checkoutUrl?: string;
  crypto?: string;
  cryptoAmount?: Decimal;
  depositAddress?: string;
  /** As the create sent it. */
  description?: string;
  /** The fee schedule that priced the payment. It never changes. */
  feeScheduleId?: string;
  /**
   * The sum of transfers that are too small to begin a payment and do not count so far. They count once a larger
   * transfer has begun it. Absent when there are none.
   */
  ignoredAmount?: Decimal;
  /** As the create sent it. */
  locale?: string;
  /** As the create sent it. */
  merchantReference?: string;
  network?: string;
  paymentUri?: string;
  payoutAmount?: Decimal;
  preferred?: PaymentPreferred;
  /** The locked rate; after late money was accepted, the lower of it and the rate when the money came. */
  rate?: Decimal;
  receiver?: PaymentReceiver;
  /** The address to which money of the payment goes back. The merchant set it, or a proposal was confirmed. */
  refundAddress?: string;
  /**
   * No refund leaves before this time. Each change of the refund address of a live payment sets it, 24 hours
   * ahead by default. Test mode has none.
   */
  refundAddressHeldUntil?: string;
  /** The address that the payer proposes. It has no effect until the merchant or an operator confirms it. */
  refundAddressProposed?: string;
  /**
   * Refunds on the chain, oldest first. An event shows each as it is when the event happens. Absent in events of
   * earlier releases.
   */
  refunds?: Refund[];
  /** As the create sent it. */
  returnUrl?: string;
  /** As the caller's settlement sent it. */
  settlementReference?: string;
  transactionUsd?: Decimal;
}

export interface PaymentCreatedAnswer {
  payment: PaymentPriced | PaymentRequested;
  success: true;
}

export interface PaymentEvent {
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  data: {
    payment: PaymentInEvent;
  };
  id: string;
  mode: Mode;
  /** The change of the payment that the event reports; see the list of events. */
  type: 'payment.created' | 'payment.pending' | 'payment.confirming' | 'payment.confirmed' | 'payment.settling' | 'payment.settled' | 'payment.expired' | 'payment.cancelled' | 'payment.needs_review' | 'payment.refunded' | 'payment.underpaid' | 'payment.overpaid' | 'payment.reorged' | 'payment.wrong_asset' | 'payment.refund_address_changed' | 'payment.refund_address_proposed' | 'payment.refund_requested' | 'payment.refund_approved' | 'payment.refund_signing' | 'payment.refund_sent' | 'payment.refund_confirmed' | 'payment.refund_failed';
}

/**
 * The reason for special handling, or null. `over_limit`: more money came than was quoted, and its worth passes
 * a limit; a person decides. `unverified`: the payment is large and only one provider confirms its deposit; a
 * person decides.
 */
export type PaymentException = 'underpaid' | 'overpaid' | 'paid_late' | 'wrong_asset' | 'reorged' | 'over_limit' | 'unverified' | 'screening_hold' | 'unfunded' | 'unclaimed' | 'payout_failed' | 'payout_returned' | null;

/** A payment as its merchant reads it. */
export type PaymentFields = PaymentCommon & {
  fiatCurrency: FiatCurrency;
  /**
   * The code of a shard, which is always the same for you, and twelve random characters; references from before
   * the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does. Every holder
   * of its reference can claim the gift, so neither log nor show it.
   */
  reference: string;
  type: PaymentType;
  payout?: PaymentPayout;
};

export interface PaymentFulfilledAnswer {
  message: 'Request fulfilled successfully';
  payment: {
    charge: Charge;
    crypto: string;
    cryptoAmount: Decimal;
    depositAddress: string;
    /** ISO 8601, UTC, with milliseconds. */
    expiresAt: string;
    fiatAmount: Decimal;
    fiatCurrency: FiatCurrency;
    network: string;
    rate: Decimal;
    /**
     * The code of a shard, which is always the same for you, and twelve random characters; references from
     * before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
     * Every holder of its reference can claim the gift, so neither log nor show it.
     */
    reference: string;
    status: 'pending';
    transactionUsd: Decimal;
  };
  success: true;
}

/** The payment right after the change that the event reports. */
export type PaymentInEvent = PaymentFields & {
  /** Counts the events of this payment: 1, 2, 3 without gaps. */
  sequence: number;
  /** In `payment.confirmed` of a payment that the merchant settles itself; works once, for 24 hours. */
  settlementToken?: string;
};

export interface PaymentLink {
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  description: string;
  endedAt: string | null;
  expiresAt: string | null;
  fiatAmount: Decimal | null;
  fiatCurrency: FiatCurrency;
  id: string;
  maximumAmount: Decimal | null;
  minimumAmount: Decimal | null;
  settlementAccountId: string | null;
  /** Only an `active` link takes payments; one that is `used_up` takes some when a payment expires. */
  status: 'active' | 'ended' | 'expired' | 'used_up';
  title: string;
  /** Of the payments that it makes. */
  type: 'request' | 'merchant';
  usageLimit: number | null;
  /** Payments that the link has made. */
  uses: number;
  /** The page for payers; absent where no page is configured. */
  url?: string;
}

export interface PaymentLinkAnswer {
  paymentLink: PaymentLink;
  success: true;
}

export interface PaymentLinkChange {
  description?: string | null | undefined;
  expiresAt?: string | null | undefined;
  /** `ended` ends the link, `active` takes that back. */
  status?: 'active' | 'ended' | null | undefined;
  title?: string | null | undefined;
  usageLimit?: number | null | undefined;
}

export interface PaymentLinkCreate {
  fiatCurrency: FiatCurrency;
  /** Payers see it. */
  title: string;
  /** `request` pays out to a settlement account; the money of `merchant` is the merchant's. */
  type: 'request' | 'merchant';
  /** Payers see it. */
  description?: string | null | undefined;
  expiresAt?: string | null | undefined;
  /** Without it the payer names the amount. */
  fiatAmount?: DecimalInput | null | undefined;
  /** Of an open amount. */
  maximumAmount?: DecimalInput | null | undefined;
  /** Of an open amount. */
  minimumAmount?: DecimalInput | null | undefined;
  /** A confirmed account in the currency; required for a request. */
  settlementAccountId?: string | null | undefined;
  usageLimit?: number | null | undefined;
}

export interface PaymentLinkListAnswer {
  pagination: Pagination;
  paymentLinks: PaymentLink[];
  success: true;
}

export interface PaymentListAnswer {
  pagination: Pagination;
  payments: Payment[];
  success: true;
}

export interface PaymentPayout {
  amount: Decimal;
  currency: FiatCurrency;
  id: string;
  reference: string;
  status: string;
}

/** The crypto and network that the payee of a request prefers. */
export interface PaymentPreferred {
  crypto?: string;
  network?: string;
}

/** The answer to creating any payment but a request. */
export interface PaymentPriced {
  charge: Charge;
  crypto: string;
  cryptoAmount: Decimal;
  depositAddress: string;
  /** ISO 8601, UTC, with milliseconds. */
  expiresAt: string;
  fiatAmount: Decimal;
  fiatCurrency: FiatCurrency;
  network: string;
  rate: Decimal;
  /**
   * The code of a shard, which is always the same for you, and twelve random characters; references from before
   * the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does. Every holder
   * of its reference can claim the gift, so neither log nor show it.
   */
  reference: string;
  status: 'pending';
  transactionUsd: Decimal;
  /** A type that is priced at once, `transfer`, `gift`, `merchant` or `bank_confirmation`; see PaymentType. */
  type: 'transfer' | 'gift' | 'merchant' | 'bank_confirmation';
}

/** The account number shows its last four digits only. */
export interface PaymentReceiver {
  /** As the bank gives it; empty where it gave none. */
  accountName: string;
  accountNumber: string;
  bankName: string;
  nameVerified?: boolean;
}

/** The answer to creating a request. */
export interface PaymentRequested {
  fiatAmount: Decimal;
  fiatCurrency: FiatCurrency;
  id: string;
  /**
   * The code of a shard, which is always the same for you, and twelve random characters; references from before
   * the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does. Every holder
   * of its reference can claim the gift, so neither log nor show it.
   */
  reference: string;
  status: 'created';
  type: 'request';
}

/**
 * `confirming` with 0 confirmations: enough money was seen by `expiresAt`, and no block holds it yet. Nothing is
 * paid on it. The transfer counts until two hours after `expiresAt`; then the payment continues with the
 * transfers in blocks, as `expired` if there are none. If it is mined later, it is late money (`paid_late`). If
 * it is replaced or dropped, the payment returns to its earlier status, with `reorged`.
 */
export type PaymentStatus = 'created' | 'pending' | 'confirming' | 'confirmed' | 'settling' | 'settled' | 'expired' | 'cancelled' | 'needs_review' | 'refunded';

export interface PaymentTransfer {
  amount: Decimal;
  /** 0 while no block holds the transfer. */
  confirmations: number;
  /** ISO 8601, UTC, with milliseconds. */
  firstSeenAt: string;
  txHash: string;
}

/**
 * `transfer`: a payer pays a bank account that the create names. `gift`: the recipient names the account later,
 * on the claim page. `request`: the create names account and amount, and the payer chooses the crypto later.
 * `merchant`: the merchant sells something, and is paid itself or names an account. `bank_confirmation`: the
 * caller pays out itself and confirms it with a settlement token.
 */
export type PaymentType = 'transfer' | 'gift' | 'request' | 'merchant' | 'bank_confirmation';

export interface ProposedRefundAddressAnswer {
  refund: {
    /** The address to which money of the payment goes back. The merchant set it, or a proposal was confirmed. */
    refundAddress?: string;
    /**
     * No refund leaves before this time. Each change of the refund address of a live payment sets it, 24 hours
     * ahead by default. Test mode has none.
     */
    refundAddressHeldUntil?: string;
    /** The address that the payer proposes. It has no effect until the merchant or an operator confirms it. */
    refundAddressProposed?: string;
  };
  success: true;
}

export interface PublicLink {
  description: string;
  fiatAmount: Decimal | null;
  fiatCurrency: FiatCurrency;
  id: string;
  maximumAmount: Decimal | null;
  minimumAmount: Decimal | null;
  mode: Mode;
  options: {
    crypto: string;
    cryptoAmount: Decimal | null;
    network: string;
  }[];
  /** Only an `active` link takes payments. */
  status: 'active' | 'ended' | 'expired' | 'used_up';
  title: string;
  /** Of the payments that it makes. */
  type: 'request' | 'merchant';
}

export interface RateListAnswer {
  rates: {
    /** Age of the oldest source that was used. */
    ageSeconds: number;
    /** ISO 8601, UTC, with milliseconds. */
    asOf: string;
    crypto: string;
    /** Fewer sources than wanted. */
    degraded: boolean;
    fiat: FiatCurrency;
    fiatPerUsd: Decimal;
    /** Fiat per one unit of the crypto, spread included. */
    rate: Decimal;
    /** Test prices of no market. */
    simulated: boolean;
    sourceNames: string[];
    sources: number;
    /** Basis points that the spread takes. */
    spreadBps: number;
  }[];
  success: true;
}

export interface ReceiverVerifiedAnswer {
  receiver: {
    accountName: string;
    accountNumber: string;
    bankCode: string;
    bankName: string;
    /** Result of the check digit of a Nigerian account number. It is advice; nothing is refused for it. */
    checkDigit: 'match' | 'mismatch' | 'unknown';
    fiatCurrency: FiatCurrency;
    nameVerified: boolean;
  };
  success: true;
}

/** Crypto that leaves for the payer on a chain. */
export interface Refund {
  /** Fixed when the refund is requested. */
  address: string;
  amount: Decimal;
  confirmedAt: string | null;
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  crypto: string;
  id: string;
  network: string;
  status: RefundStatus;
  /** Of the newest transaction; it may be replaced until the refund is confirmed. */
  txHash: string | null;
  /** Stable code of why a `failed` one failed, such as `refused`, `cancelled` or `reverted`. */
  failure?: string;
}

export interface RefundAddress {
  address: string;
}

export interface RefundAddressAnswer {
  refund: {
    address: string;
    network: string;
    /**
     * The code of a shard, which is always the same for you, and twelve random characters; references from
     * before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
     * Every holder of its reference can claim the gift, so neither log nor show it.
     */
    reference: string;
    /**
     * No refund leaves before this time. Each change of the refund address of a live payment sets it, 24 hours
     * ahead by default. Test mode has none.
     */
    heldUntil?: string;
  };
  success: true;
}

export interface RefundAnswer {
  refund: Refund;
  success: true;
}

/**
 * `requested` waits for operators; `sent` is with a node; `confirmed` is in a final block; the money of a
 * `failed` one is owed again.
 */
export type RefundStatus = 'requested' | 'approved' | 'signing' | 'sent' | 'confirmed' | 'failed';

export interface RefundsAnswer {
  refunds: Refund[];
  success: true;
}

/** A report as everybody sees it. Internal fields are null. */
export type Report = ReportFields & {
  adminNotes: null;
  confirmer: null;
};

export interface ReportAnswer {
  data: {
    report: Report;
  };
  success: true;
}

export interface ReportEvent {
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  data: {
    report: ReportInEvent;
  };
  id: string;
  mode: Mode;
  /** `report.created`: it was filed; `report.updated`: the merchant moved it on. */
  type: 'report.created' | 'report.updated';
}

export interface ReportFields {
  /** The key that filed it. */
  apiKeyId: number;
  complaintType: ComplaintType;
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  description: string | null;
  fraudsterWalletAddress: string | null;
  id: number;
  /** The owner of that key. */
  merchantId: string;
  name: string;
  phoneNumber: string | null;
  reportId: string;
  /** As it was sent; a gift's reference is null to everybody but keys of the merchant who filed the report. */
  sessionReference: string | null;
  status: ReportStatus;
  /** ISO 8601, UTC, with milliseconds. */
  updatedAt: string;
  walletAddress: string | null;
}

/** The report as it is read, right after what the event tells. */
export type ReportInEvent = ReportFields & {
  adminNotes: null;
  confirmer: null;
  /** Counts the events of this report: 1, 2, 3 without gaps. */
  sequence: number;
};

export interface ReportListAnswer {
  data: {
    limit: number;
    offset: number;
    reports: Report[];
    /** How many reports match, on all pages. */
    total: number;
    /** Only when asked by cursor. */
    hasMore?: boolean;
    /** Only when asked by cursor. */
    nextCursor?: string | null;
  };
  success: true;
}

/** A report as shown to a key of its merchant with `report:manage`. */
export type ReportManaged = ReportFields & {
  adminNotes: string | null;
  confirmer: string | null;
};

export interface ReportManagedAnswer {
  data: {
    report: ReportManaged;
  };
  success: true;
}

export interface ReportOwnListAnswer {
  data: {
    pagination: Pagination;
    reports: ReportManaged[];
  };
  success: true;
}

/**
 * `pending`: filed; `processing`: the merchant looks into it; `resolved`: it was true, and is done; `dismissed`:
 * it was not.
 */
export type ReportStatus = 'pending' | 'processing' | 'resolved' | 'dismissed';

export interface SandboxDeposit {
  /** In the payment's crypto; a number, or a string that holds one. Default is the amount still owed. */
  amount?: DecimalInput | string | null | undefined;
  /** Enough when absent; fewer leave the payment confirming until a deposit adds more. */
  confirmations?: number | null | undefined;
  /** Another crypto of the payment's network makes the payment `wrong_asset`. The asked one when absent. */
  crypto?: string | null | undefined;
  /**
   * The fate of the transfer. `reorg`: its block leaves the chain after `confirmations` (1 when absent), and a
   * later block holds it again. `reorg_dropped`: the same, and no block does. `screening_hold`: its sender is on
   * the list of sanctioned addresses. `over_limit`: no limit has room for more of it than the quote; for
   * transfers and gifts, a fifth more than what is owed when `amount` is absent. Absent: nothing happens to it.
   */
  outcome?: 'reorg' | 'reorg_dropped' | 'screening_hold' | 'over_limit' | null | undefined;
}

export interface SandboxDepositAnswer {
  deposit: {
    amount: Decimal;
    confirmations: number;
    crypto: string;
    depositAddress: string;
    network: string;
  };
  success: true;
}

export interface SandboxOutage {
  /** `rates`: no prices. `network`: the network is not followed. */
  what: 'rates' | 'network';
  /** With `network`: which one. */
  network?: string | null | undefined;
  /** 60 when absent; 0 ends the outage. */
  seconds?: number | null | undefined;
}

export interface SandboxOutageAnswer {
  outage: {
    /** Null for an outage of the prices. */
    network: string | null;
    /** ISO 8601, UTC, with milliseconds. */
    until: string;
    /** `rates` or `network`. */
    what: 'rates' | 'network';
  };
  success: true;
}

export interface SandboxOutcome {
  /** `succeed` pays, `fail` never pays, `return` pays and takes it back, `timeout` answers nothing. */
  outcome: 'succeed' | 'fail' | 'return' | 'timeout';
}

export interface SandboxOutcomeAnswer {
  payout: {
    /** The outcome that was ordered: `succeed`, `fail`, `return` or `timeout`. */
    outcome: 'succeed' | 'fail' | 'return' | 'timeout';
    reference: string;
    /** Missing while there is no payout yet. */
    id?: string;
  };
  success: true;
}

export interface SandboxSimulateDeposit {
  /** In the payment's crypto; a number, or a string that holds one. Default is the amount still owed. */
  amount?: DecimalInput | string | null | undefined;
  /** Confirmations; enough when absent. */
  steps?: number | null | undefined;
}

export interface SandboxWalletDeposit {
  /** In the wallet's crypto; a number, or a string that holds one. */
  amount: DecimalInput | string;
  confirmations?: number | null | undefined;
  /**
   * `reorg`: the transfer's block leaves the chain after `confirmations` (1 when absent), and a later block
   * holds it again. `reorg_dropped`: the same, and no block does.
   */
  outcome?: 'reorg' | 'reorg_dropped' | null | undefined;
}

export interface SandboxWalletDepositAnswer {
  deposit: {
    /** A canonical decimal. */
    amount: string;
    confirmations: number;
    crypto: string;
    depositAddress: string;
    network: string;
    txHash: string;
  };
  success: true;
}

export interface Settle {
  settlementToken: string;
  /** The caller's own name of the payout that it made. */
  settlementReference?: string | null | undefined;
}

/** How many payments were settled within this time of the confirmation of their money. */
export interface SettledWithin {
  day: number;
  fiveMinutes: number;
  hour: number;
  minute: number;
}

export interface SettlementAccount {
  confirmedAt: string | null;
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  currency: FiatCurrency;
  heldUntil: string | null;
  id: string;
  receiver: SettlementReceiver;
  /** `unconfirmed`: proposed; `active`: confirmed, and money may go there from `heldUntil`. */
  status: 'unconfirmed' | 'active';
}

export interface SettlementAccountAnswer {
  settlementAccount: SettlementAccount;
  success: true;
}

export interface SettlementAccountDeletedAnswer {
  deleted: 'true';
  id: string;
  success: true;
}

export interface SettlementAccountEvent {
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  data: {
    settlementAccount: {
      confirmedAt: string | null;
      /** ISO 8601, UTC, with milliseconds. */
      createdAt: string;
      currency: FiatCurrency;
      heldUntil: string | null;
      id: string;
      receiver: SettlementReceiver;
      sequence: number;
      /** `unconfirmed`: proposed; `active`: confirmed; `deleted`: no money goes there any more. */
      status: 'unconfirmed' | 'active' | 'deleted';
    };
  };
  id: string;
  mode: Mode;
  /** The change of the account that the event reports. */
  type: 'settlement_account.added' | 'settlement_account.confirmed' | 'settlement_account.deleted';
}

export interface SettlementAccountsAnswer {
  settlementAccounts: SettlementAccount[];
  success: true;
}

export interface SettlementReceiver {
  /** As the bank gives it; empty where the corridor has no names. */
  accountName: string;
  /** The last four characters; the others are covered. */
  accountNumber: string;
  bankName: string;
  nameVerified: boolean;
}

export interface SettlementSettings {
  daily: DailySettlement[];
  /** Who settles payments of type `merchant` without a receiver. */
  merchantPayments: 'self' | 'balance';
}

export interface SettlementSettingsAnswer {
  settings: SettlementSettings;
  success: true;
}

export interface SettlementTokenAnswer {
  /** ISO 8601, UTC, with milliseconds. */
  expiresAt: string;
  success: true;
  /** Missing only from a replay later than 15 minutes. */
  settlementToken?: string;
}

export interface SettlementsAnswer {
  /** ISO 8601, UTC, with milliseconds. */
  from: string;
  settlements: {
    convertedAmount: Decimal;
    /** ISO 8601, UTC, with milliseconds. */
    createdAt: string;
    crypto: string;
    fee: Decimal;
    fiatAmount: Decimal;
    fiatCurrency: FiatCurrency;
    network: string;
    payoutAmount: Decimal;
    payoutReference: string;
    rate: Decimal;
    receivedAmount: Decimal;
    /**
     * The code of a shard, which is always the same for you, and twelve random characters; references from
     * before the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does.
     * Every holder of its reference can claim the gift, so neither log nor show it.
     */
    reference: string;
    /** ISO 8601, UTC, with milliseconds. */
    settledAt: string;
    /** `causeway` paid the receiver; the `caller` did, and confirmed it. */
    settledBy: 'causeway' | 'caller';
    type: PaymentType;
    /** As the create sent it. */
    bankRef?: string;
    /** As the create sent it. */
    merchantReference?: string;
    /** As the caller's settlement sent it. */
    settlementReference?: string;
  }[];
  success: true;
  /** ISO 8601, UTC, with milliseconds. */
  to: string;
  totals: {
    count: number;
    crypto: {
      convertedAmount: Decimal;
      count: number;
      crypto: string;
      network: string;
      receivedAmount: Decimal;
    }[];
    fiat: {
      count: number;
      fee: Decimal;
      fiatAmount: Decimal;
      fiatCurrency: FiatCurrency;
      payoutAmount: Decimal;
    }[];
  };
}

export interface SimulatePayer {
  /** `full` pays what is owed, `partial` a part, `over` more, `late` after `expiresAt`. */
  scenario: 'full' | 'partial' | 'over' | 'late';
}

export interface Statistics {
  by: string[];
  /** A day in UTC. */
  from: string;
  /** Without `by` there are none. A day without payments has no group. */
  groups: StatisticsGroup[];
  /** A day in UTC. */
  to: string;
  totals: StatisticsFigures;
}

export interface StatisticsAmounts {
  fee: Decimal;
  /** Of all payments. */
  fiatAmount: Decimal;
  fiatCurrency: FiatCurrency;
  payoutAmount: Decimal;
  /** The `fiatAmount` of settled payments. */
  settledAmount: Decimal;
}

export interface StatisticsAnswer {
  statistics: Statistics;
  success: true;
}

export interface StatisticsFigures {
  amounts: StatisticsAmounts[];
  count: number;
  ended: number;
  /** A mean; null while none is settled. */
  secondsToSettle: Decimal | null;
  settled: number;
  settledUsd: Decimal;
  settledWithin: SettledWithin;
  /** Four digits after the point; null while none has ended. */
  successRate: Decimal | null;
  transactionUsd: Decimal;
}

/** The fields that `by` names, and the figures of the group. */
export interface StatisticsGroup {
  amounts: StatisticsAmounts[];
  count: number;
  ended: number;
  /** A mean; null while none is settled. */
  secondsToSettle: Decimal | null;
  settled: number;
  settledUsd: Decimal;
  settledWithin: SettledWithin;
  /** Four digits after the point; null while none has ended. */
  successRate: Decimal | null;
  transactionUsd: Decimal;
  day?: string;
  fiatCurrency?: FiatCurrency;
  /** Empty for requests that nobody has fulfilled. */
  network?: string;
  status?: PaymentStatus;
  type?: PaymentType;
}

/** Requests a second, and at once: `standard` 50 and 500, `premium` 200 and 2 000, `unlimited` without a bound. */
export type Tier = 'standard' | 'premium' | 'unlimited';

export interface Timeline {
  entries: TimelineEntry[];
  id: string;
  /**
   * The code of a shard, which is always the same for you, and twelve random characters; references from before
   * the codes have only these. A gift's reference begins with `CW-G`, and no other payment's does. Every holder
   * of its reference can claim the gift, so neither log nor show it.
   */
  reference: string;
}

export interface TimelineAnswer {
  success: true;
  timeline: Timeline;
}

export interface TimelineEntry {
  /** ISO 8601, UTC, with milliseconds. */
  at: string;
  /** Names the member that is present. */
  kind: 'status' | 'quote' | 'transfer' | 'payout' | 'refund';
  payout?: TimelinePayout;
  quote?: TimelineQuote;
  refund?: TimelineRefund;
  status?: TimelineStatus;
  transfer?: TimelineTransfer;
}

/** An attempt of the payout was begun. */
export interface TimelinePayout {
  amount: Decimal;
  attempt: number;
  currency: FiatCurrency;
  endedAt: string | null;
  id: string;
  /** Of this attempt at the rail. */
  reference: string;
  sentAt: string | null;
  status: string;
}

/** The payment got its price and its deposit address. */
export interface TimelineQuote {
  charge: Charge;
  crypto: string;
  cryptoAmount: Decimal;
  depositAddress: string;
  /** ISO 8601, UTC, with milliseconds. */
  expiresAt: string;
  fiatAmount: Decimal;
  fiatCurrency: FiatCurrency;
  network: string;
  rate: Decimal;
}

/** A refund was requested. */
export interface TimelineRefund {
  address: string;
  amount: Decimal;
  confirmedAt: string | null;
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  crypto: string;
  /** A public page about the transaction; null in test mode. */
  explorerUrl: string | null;
  id: string;
  network: string;
  status: RefundStatus;
  txHash: string | null;
  /** Stable code. */
  failure?: string;
}

/** The payment got this status or exception. */
export interface TimelineStatus {
  exception: PaymentException;
  status: PaymentStatus;
}

/** A transfer to the deposit address was first seen. */
export interface TimelineTransfer {
  amount: Decimal;
  blockHeight: number | null;
  confirmations: number;
  /** May be another one than the quote's. */
  crypto: string;
  /** A public page about the transaction; null in test mode. */
  explorerUrl: string | null;
  minedAt: string | null;
  network: string;
  /** Null where only finality counts. */
  requiredConfirmations: number | null;
  /** The transfer is on its chain no more. */
  reverted: boolean;
  txHash: string;
}

export interface UpdateReport {
  status: ReportStatus;
  /** Kept as they were when absent. */
  adminNotes?: string | null | undefined;
  /** Who confirmed it; kept as it was when absent. */
  confirmer?: string | null | undefined;
}

export interface VerifyReceiver {
  accountNumber: string;
  bankCode: string;
  /** `NGN`, `GHS`, `KES` or `ZAR`: the country of the bank, where its code is used in several. */
  fiatCurrency?: 'NGN' | 'GHS' | 'KES' | 'ZAR' | '' | null | undefined;
  /** A payment whose mode and currency count. Without a key it is required, and a gift that can be claimed. */
  reference?: string | null | undefined;
}

export interface Wallet {
  address: string;
  /** A canonical decimal. */
  amount: string;
  /** Depth of the newest transfer. */
  confirmations: number;
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  crypto: string;
  /** ISO 8601, UTC, with milliseconds. */
  expiresAt: string;
  id: string;
  metadata: Metadata;
  network: string;
  status: WalletStatus;
}

export interface WalletAnswer {
  success: true;
  wallet: Wallet;
}

export interface WalletCreatedAnswer {
  success: true;
  wallet: {
    address: string;
    /** ISO 8601, UTC, with milliseconds. */
    createdAt: string;
    crypto: string;
    /** ISO 8601, UTC, with milliseconds. */
    expiresAt: string;
    id: string;
    metadata: Metadata;
    network: string;
    status: 'watching';
  };
}

export interface WalletDeposit {
  /** A canonical decimal. */
  amount: string;
  blockHeight: number;
  confirmations: number;
  /** Whether it is part of the wallet's amount. */
  counted: boolean;
  crypto: string;
  /** ISO 8601, UTC, with milliseconds. */
  firstSeenAt: string;
  network: string;
  /** `seen`: not deep enough yet; `confirmed`: deep enough; `reverted`: it left the chain. */
  status: 'seen' | 'confirmed' | 'reverted';
  txHash: string;
}

export interface WalletDepositListAnswer {
  deposits: WalletDeposit[];
  pagination: Pagination;
  success: true;
}

export interface WalletEvent {
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  data: {
    wallet: {
      address: string;
      /** A canonical decimal. */
      amount: string;
      /** Depth of the newest transfer. */
      confirmations: number;
      /** ISO 8601, UTC, with milliseconds. */
      createdAt: string;
      crypto: string;
      /** ISO 8601, UTC, with milliseconds. */
      expiresAt: string;
      id: string;
      metadata: Metadata;
      network: string;
      sequence: number;
      status: WalletStatus;
    };
  };
  id: string;
  mode: Mode;
  /** The status that the wallet has reached. */
  type: 'wallet.watching' | 'wallet.deposit_detected' | 'wallet.confirmed' | 'wallet.swept' | 'wallet.expired';
}

export interface WalletItem {
  address: string;
  /** A canonical decimal. */
  amount: string;
  /** Depth of the newest transfer. */
  confirmations: number;
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  crypto: string;
  id: string;
  network: string;
  status: WalletStatus;
}

export interface WalletListAnswer {
  pagination: {
    limit: number;
    offset: number;
    returned: number;
    /** Only in pages by cursor. */
    hasMore?: boolean;
    /** Only in pages by cursor. */
    nextCursor?: string | null;
  };
  success: true;
  wallets: WalletItem[];
}

/**
 * `watching`: nothing has come; `deposit_detected`: a transfer was seen and is not deep enough; `confirmed`:
 * every transfer is; `swept`: the money has left for the treasury; `expired`: nothing came in time, and later
 * money counts still.
 */
export type WalletStatus = 'watching' | 'deposit_detected' | 'confirmed' | 'swept' | 'expired';

/** Crypto that leaves from the deposit wallets of a merchant. */
export interface WalletWithdrawal {
  address: string;
  addressId: string;
  /** A canonical decimal. */
  amount: string;
  confirmedAt: string | null;
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  crypto: string;
  /** A canonical decimal. */
  fee: string;
  id: string;
  network: string;
  status: RefundStatus;
  /** Of the newest transaction; it may be replaced until the withdrawal is confirmed. */
  txHash: string | null;
  /** `requested` waits for the answer whether a transaction may land, `too_late` says that one may. */
  cancellation?: 'requested' | 'too_late';
  /** Stable code of why a `failed` one failed, such as `insufficient_balance`, `refused` or `cancelled`. */
  failure?: string;
}

export interface WalletWithdrawalAnswer {
  success: true;
  withdrawal: WalletWithdrawal;
}

export interface WalletWithdrawalEvent {
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  data: {
    withdrawal: {
      address: string;
      addressId: string;
      /** A canonical decimal. */
      amount: string;
      confirmedAt: string | null;
      /** ISO 8601, UTC, with milliseconds. */
      createdAt: string;
      crypto: string;
      /** A canonical decimal. */
      fee: string;
      id: string;
      network: string;
      sequence: number;
      status: RefundStatus;
      /** Of the newest transaction; it may be replaced until the withdrawal is confirmed. */
      txHash: string | null;
      /** `requested` waits for the answer whether a transaction may land, `too_late` says that one may. */
      cancellation?: 'requested' | 'too_late';
      /** Stable code of why a `failed` one failed, such as `insufficient_balance`, `refused` or `cancelled`. */
      failure?: string;
    };
  };
  id: string;
  mode: Mode;
  /** The state that the withdrawal has reached. */
  type: 'wallet.withdrawal_requested' | 'wallet.withdrawal_approved' | 'wallet.withdrawal_signing' | 'wallet.withdrawal_sent' | 'wallet.withdrawal_confirmed' | 'wallet.withdrawal_failed';
}

export interface WalletWithdrawalFeesAnswer {
  fees: {
    crypto: string;
    /** A canonical decimal. */
    fee: string;
    /** A canonical decimal. */
    minimum: string;
    network: string;
    open: boolean;
  }[];
  success: true;
}

export interface WalletWithdrawalsAnswer {
  pagination: Pagination;
  success: true;
  withdrawals: WalletWithdrawal[];
}

export interface WebhookAttempt {
  /** ISO 8601, UTC, with milliseconds. */
  at: string;
  /**
   * `ok http_4xx http_5xx throttled gone redirect timeout_connect timeout_response dns refused reset tls
   * blocked_ssrf malformed internal`.
   */
  class: string;
  /** The first 512 bytes of a 2xx body, 4 KiB of another. */
  excerpt: string;
  /** How `excerpt` holds the bytes of the answer: as `utf8` text or as `base64`. */
  excerptEncoding: 'utf8' | 'base64';
  /** Phases that a kept connection skips are 0; wait is from the request to the first byte. */
  latencyMs: {
    connect: Decimal;
    dns: Decimal;
    tls: Decimal;
    total: Decimal;
    wait: Decimal;
  };
  number: number;
  /** Null when no answer came. */
  status: number | null;
  /**
   * `auto`: by the schedule; `manual`: by a retry; `replay`: by a replay; `probe`: a test of an endpoint that
   * was failing.
   */
  trigger: 'auto' | 'manual' | 'replay' | 'probe';
}

export interface WebhookDelivery {
  attemptCount: number;
  attempts: WebhookAttempt[];
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  /** Null for a `callbackUrl`. */
  endpointId: string | null;
  eventId: string;
  finishedAt: string | null;
  id: string;
  nextAttemptAt: string | null;
  objectId: string;
  sequence: number;
  /**
   * `pending`: the first attempt is due; `retrying`: another follows; `held`: the endpoint is disabled;
   * `delivered`: an attempt succeeded; `exhausted`: the last attempt failed.
   */
  status: 'pending' | 'retrying' | 'held' | 'delivered' | 'exhausted';
  type: EventTypeName;
  url: string;
}

export interface WebhookDeliveryAnswer {
  delivery: WebhookDelivery;
  success: true;
}

export interface WebhookDeliveryListAnswer {
  deliveries: WebhookDelivery[];
  pagination: Pagination;
  success: true;
}

export interface WebhookEndpoint {
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  description: string;
  disabledAt: string | null;
  /** `gone`: it answered 410. `failing`: no success for 5 days. */
  disabledReason: 'merchant' | 'gone' | 'failing' | null;
  enabled: boolean;
  failingSince: string | null;
  id: string;
  types: EventTypeName[];
  /** ISO 8601, UTC, with milliseconds. */
  updatedAt: string;
  url: string;
}

export interface WebhookEndpointAnswer {
  endpoint: WebhookEndpoint;
  success: true;
}

export interface WebhookEndpointCreate {
  url: string;
  description?: string | null | undefined;
  enabled?: boolean | null | undefined;
  /** Every type when empty. A live endpoint also gets the events that warn of money that may leave. */
  types?: readonly EventTypeName[] | null | undefined;
}

export interface WebhookEndpointDeletedAnswer {
  deleted: true;
  id: string;
  success: true;
}

export interface WebhookEndpointListAnswer {
  endpoints: WebhookEndpoint[];
  pagination: Pagination;
  success: true;
}

export interface WebhookEndpointPatch {
  description?: string | null | undefined;
  enabled?: boolean | null | undefined;
  types?: readonly EventTypeName[] | null | undefined;
  url?: string | null | undefined;
}

export interface WebhookReplayAnswer {
  replay: {
    createdAt: string | null;
    endpointId: string | null;
    /** ISO 8601, UTC, with milliseconds. */
    from: string;
    /** Null for a dry run. */
    id: string | null;
    /** Those of them that were put on their way. */
    sent: number;
    /** `dry_run` counts and sends nothing; `running`, `paused`, and `finished` once all were sent. */
    state: 'dry_run' | 'running' | 'paused' | 'finished';
    statuses: ('exhausted' | 'delivered')[];
    /** ISO 8601, UTC, with milliseconds. */
    to: string;
    /** Deliveries in the range when it was asked for. */
    total: number;
    types: EventTypeName[];
  };
  success: true;
}

export interface WebhookReplayCreate {
  from: string;
  dryRun?: boolean | null | undefined;
  endpointId?: string | null | undefined;
  /** The deliveries that are sent again: those that are `exhausted`, those that were `delivered`, or `all`. */
  status?: 'exhausted' | 'delivered' | 'all' | null | undefined;
  /** Now when absent. */
  to?: string | null | undefined;
  types?: readonly EventTypeName[] | null | undefined;
}

export interface WebhookRetryAnswer {
  delivery: {
    id: string;
    status: 'retrying';
  };
  success: true;
}

export interface WebhookRotation {
  /** Whether the earlier secrets end now, because one of them has leaked. */
  revokePrevious?: boolean | null | undefined;
}

export interface WebhookSecretAnswer {
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  /**
   * When the previous secret ends, while it still signs; it is not shown again. Older ones may sign too, until
   * their own 24 hours have passed.
   */
  previous: {
    /** ISO 8601, UTC, with milliseconds. */
    expiresAt: string;
  } | null;
  success: true;
  /** Absent only in a late replay of a rotation. */
  secret?: string;
}

export interface Withdrawal {
  amount: Decimal;
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  currency: FiatCurrency;
  endedAt: string | null;
  id: string;
  receiver: SettlementReceiver;
  settlementAccountId: string;
  status: WithdrawalStatus;
  /** Stable code of why a failed withdrawal failed. */
  failure?: string;
}

export interface WithdrawalAnswer {
  success: true;
  withdrawal: Withdrawal;
}

export interface WithdrawalEvent {
  /** ISO 8601, UTC, with milliseconds. */
  createdAt: string;
  data: {
    withdrawal: {
      amount: Decimal;
      /** ISO 8601, UTC, with milliseconds. */
      createdAt: string;
      currency: FiatCurrency;
      endedAt: string | null;
      id: string;
      receiver: SettlementReceiver;
      sequence: number;
      settlementAccountId: string;
      status: WithdrawalStatus;
      /** Stable code of why a failed withdrawal failed. */
      failure?: string;
    };
  };
  id: string;
  mode: Mode;
  /** The status that the withdrawal has reached. */
  type: 'withdrawal.requested' | 'withdrawal.approved' | 'withdrawal.sending' | 'withdrawal.paid' | 'withdrawal.failed' | 'withdrawal.returned';
}

/**
 * `requested` waits for operators; `approved` leaves soon; `sending` is on its way; `paid`: the bank has paid
 * it; `failed`: refused or never paid, and in the balance again; `returned`: the bank sent it back after it was
 * paid.
 */
export type WithdrawalStatus = 'requested' | 'approved' | 'sending' | 'paid' | 'failed' | 'returned';

export interface WithdrawalsAnswer {
  pagination: Pagination;
  success: true;
  withdrawals: Withdrawal[];
}

/** An event that a webhook brings; `type` says which. */
export type WebhookEvent = AddressBookEvent | EndpointEvent | PaymentEvent | ReportEvent | SettlementAccountEvent | WalletEvent | WalletWithdrawalEvent | WithdrawalEvent;

/** Codes of errors. A newer gateway may know more. */
export type ErrorCode =
  | 'above_maximum'
  | 'address_book_full'
  | 'address_known'
  | 'address_not_found'
  | 'already_paused'
  | 'already_settled'
  | 'amount_above_owed'
  | 'amount_below_minimum'
  | 'amount_out_of_range'
  | 'api_key_ambiguous'
  | 'api_key_expired'
  | 'api_key_in_use'
  | 'api_key_invalid'
  | 'api_key_missing'
  | 'api_key_no_heir'
  | 'api_key_not_found'
  | 'api_key_revoked'
  | 'approval_invalid'
  | 'approval_open'
  | 'approval_outdated'
  | 'approval_required'
  | 'assertion_invalid'
  | 'balance_unavailable'
  | 'body_too_large'
  | 'body_too_slow'
  | 'body_unreadable'
  | 'busy'
  | 'cancel_too_late'
  | 'capacity'
  | 'currency_not_enabled'
  | 'daily_limit_exceeded'
  | 'day_not_closed'
  | 'dead_message_not_found'
  | 'dead_message_refused'
  | 'delivery_not_found'
  | 'deposit_attributed'
  | 'deposit_not_final'
  | 'deposit_not_found'
  | 'deposit_reorged'
  | 'endpoint_disabled'
  | 'endpoint_limit'
  | 'endpoint_not_found'
  | 'fee_changed'
  | 'fee_schedule_not_found'
  | 'gift_already_claimed'
  | 'gift_cancelled'
  | 'gift_expired'
  | 'gift_not_claimable'
  | 'headers_too_large'
  | 'hint_not_needed'
  | 'idempotency_in_progress'
  | 'idempotency_key_reused'
  | 'identity_invalid'
  | 'insufficient_balance'
  | 'internal'
  | 'invalid_json'
  | 'invalid_report_id'
  | 'invalid_settlement_token'
  | 'ip_not_allowed'
  | 'key_is_console'
  | 'key_required'
  | 'keys_unavailable'
  | 'live_disabled'
  | 'merchant_changed'
  | 'merchant_exists'
  | 'merchant_in_shards'
  | 'merchant_is_suspended'
  | 'merchant_name_fixed'
  | 'merchant_not_approved'
  | 'merchant_not_found'
  | 'merchant_not_suspended'
  | 'merchant_reference_used'
  | 'merchant_suspended'
  | 'merchant_unknown'
  | 'method_not_allowed'
  | 'money_unclaimed'
  | 'month_archived'
  | 'name_service_unavailable'
  | 'network_not_enabled'
  | 'network_not_scanned'
  | 'network_unavailable'
  | 'network_unknown'
  | 'no_address'
  | 'no_failed_payout'
  | 'no_refund_address'
  | 'no_such_payout'
  | 'not_a_gift'
  | 'not_a_request'
  | 'not_accused'
  | 'not_closed'
  | 'not_confirmed'
  | 'not_expirable'
  | 'not_in_review'
  | 'not_payable'
  | 'not_possible'
  | 'not_settled_by_caller'
  | 'nothing_confirmed'
  | 'nothing_owed'
  | 'operator_required'
  | 'operator_token_ended'
  | 'operator_token_expired'
  | 'operator_token_invalid'
  | 'operator_token_missing'
  | 'operator_token_not_found'
  | 'operator_token_not_yours'
  | 'operator_token_used'
  | 'operator_tokens_too_many'
  | 'operators_unavailable'
  | 'overloaded'
  | 'owed_too_shortly'
  | 'passkey_by_token'
  | 'passkey_known'
  | 'passkey_not_found'
  | 'passkeys_too_many'
  | 'pause_not_found'
  | 'payment_changed'
  | 'payment_elsewhere'
  | 'payment_exists'
  | 'payment_link_busy'
  | 'payment_link_closed'
  | 'payment_link_not_found'
  | 'payment_not_found'
  | 'payout_amount_differs'
  | 'payout_concluded'
  | 'payout_in_flight'
  | 'payout_not_found'
  | 'payout_not_made'
  | 'payout_not_sent'
  | 'payout_sent_again'
  | 'permission_missing'
  | 'quotes_paused'
  | 'rail_not_found'
  | 'rate_limited'
  | 'rate_unavailable'
  | 'receiver_forgotten'
  | 'reference_required'
  | 'refund_address_changed'
  | 'refund_address_held'
  | 'refund_address_internal'
  | 'refund_address_not_needed'
  | 'refund_address_not_proposed'
  | 'refund_address_refused'
  | 'refund_address_unfit'
  | 'refund_begun'
  | 'refund_decided'
  | 'refund_differs'
  | 'refund_not_cancellable'
  | 'refund_not_found'
  | 'refund_open'
  | 'refund_unverified'
  | 'refunds_closed'
  | 'refunds_paused'
  | 'replay_limit'
  | 'replay_not_found'
  | 'report_not_found'
  | 'request_already_fulfilled'
  | 'request_cancelled'
  | 'request_expired'
  | 'rescan_under_way'
  | 'rotation_limit'
  | 'route_not_found'
  | 'sanctions_list_outdated'
  | 'screening_unavailable'
  | 'second_operator_required'
  | 'service_unavailable'
  | 'settlement_account_confirmed'
  | 'settlement_account_currency'
  | 'settlement_account_differs'
  | 'settlement_account_held'
  | 'settlement_account_not_found'
  | 'settlement_account_removed'
  | 'settlement_account_unconfirmed'
  | 'shard_missing'
  | 'shard_unknown'
  | 'signature_expired'
  | 'signature_invalid'
  | 'signature_missing'
  | 'signature_replayed'
  | 'signatures_unavailable'
  | 'sweep_busy'
  | 'sweep_not_found'
  | 'timeout'
  | 'token_by_token'
  | 'too_many_groups'
  | 'too_many_guesses'
  | 'too_many_keys'
  | 'too_many_payment_links'
  | 'too_many_proposals'
  | 'too_many_reports'
  | 'too_many_settlement_accounts'
  | 'too_many_transactions'
  | 'too_many_withdrawals'
  | 'transaction_used'
  | 'transition_refused'
  | 'treasury_not_ready'
  | 'type_not_enabled'
  | 'unclaimed_not_found'
  | 'unclaimed_returned'
  | 'unsupported_media_type'
  | 'unsupported_pair'
  | 'upstream_failed'
  | 'upstream_timeout'
  | 'upstream_unavailable'
  | 'url_too_long'
  | 'validation_failed'
  | 'wallet_not_found'
  | 'window_open'
  | 'withdrawal_address_held'
  | 'withdrawal_address_internal'
  | 'withdrawal_address_refused'
  | 'withdrawal_address_removed'
  | 'withdrawal_decided'
  | 'withdrawal_not_cancellable'
  | 'withdrawal_not_found'
  | 'withdrawals_closed'
  | 'withdrawals_paused'
  | (string & {});

/** Parameters of {@link Causeway.listBanks}. */
export interface ListBanksQuery {
  /**
   * The rails of this mode decide which banks there are. Without it those of the key that is sent along, and
   * without a key those of live mode, where it is open.
   */
  mode?: 'live' | 'test' | '' | undefined;
  /** Only banks of this currency. */
  currency?: string | undefined;
  /** Words of the name, in any order and case. */
  name?: string | undefined;
}

/** Parameters of {@link Causeway.listEvents}. */
export interface ListEventsQuery {
  /**
   * The code of the shard that answers, as in its references and ids. An operator who names none gets the shard
   * of the object in the path, else the first, `AA`. A merchant needs it if its payments are in several shards,
   * and names one of them.
   */
  shard?: string | undefined;
  /** Most items of a page. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
  /** Only events of this type. */
  type?: EventTypeName | undefined;
  /** Only events from this time on. */
  from?: string | undefined;
}

/** Parameters of {@link Causeway.listNetworks}. */
export interface ListNetworksQuery {
  /**
   * Minimums and limits are those of this mode. Without it those of the key that is sent along, and without a
   * key those of live mode, where it is open.
   */
  mode?: 'live' | 'test' | '' | undefined;
}

/** Parameters of {@link Causeway.listPaymentLinks}. */
export interface ListPaymentLinksQuery {
  /** Most items of a page. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
}

/** Parameters of {@link Causeway.listPayments}. */
export interface ListPaymentsQuery {
  /** Only payments that have one of these statuses, separated by commas; `all` is no filter. */
  status?: 'all' | 'created' | 'pending' | 'confirming' | 'confirmed' | 'settling' | 'settled' | 'expired' | 'cancelled' | 'needs_review' | 'refunded' | '' | readonly ('all' | 'created' | 'pending' | 'confirming' | 'confirmed' | 'settling' | 'settled' | 'expired' | 'cancelled' | 'needs_review' | 'refunded' | '')[] | undefined;
  /** Only payments of this type. */
  type?: 'transfer' | 'gift' | 'request' | 'merchant' | 'bank_confirmation' | '' | undefined;
  /** Created at or after this time or day. */
  from?: string | undefined;
  /** Created before this time or day. */
  to?: string | undefined;
  /**
   * Only payments with this `merchantReference`. Several have one where earlier ones are expired, cancelled or
   * refunded.
   */
  merchantReference?: string | undefined;
  /** Only payments with this `payer.chatId`. A payer that was erased is not found. */
  payerChatId?: string | undefined;
  /** Only payments to which this transaction made a transfer, also one that left its chain since. */
  txHash?: string | undefined;
  /** Only the payment of this deposit address, in any spelling that its network knows. */
  address?: string | undefined;
  /** Most items of a page. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
}

/** Parameters of {@link Causeway.listRates}. */
export interface ListRatesQuery {
  /**
   * The prices of this mode. Without it those of the key that is sent along, and without a key those of live
   * mode, where it is open.
   */
  mode?: 'live' | 'test' | '' | undefined;
  /** Only rates of this currency. */
  fiat?: string | undefined;
  /** Only rates of this crypto. */
  crypto?: string | undefined;
}

/** Parameters of {@link Causeway.listReports}. */
export interface ListReportsQuery {
  /** Only reports of these statuses, separated by commas; `all` is no filter. */
  status?: 'all' | 'pending' | 'processing' | 'resolved' | 'dismissed' | '' | readonly ('all' | 'pending' | 'processing' | 'resolved' | 'dismissed' | '')[] | undefined;
  /** Only reports of this type. */
  complaintType?: 'track_transaction' | 'stolen_funds' | 'fraud' | '' | undefined;
  /** Most items of a page. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
}

/** Parameters of {@link Causeway.lookupReports}. */
export interface LookupReportsQuery {
  /** The reporter's phone number; required unless `walletAddress` is given. */
  phoneNumber?: string | undefined;
  /** The reporter's wallet address; required unless `phoneNumber` is given. */
  walletAddress?: string | undefined;
  /** Only reports of this status. */
  status?: 'all' | 'pending' | 'processing' | 'resolved' | 'dismissed' | undefined;
  /** Only reports of this type. */
  complaintType?: ComplaintType | undefined;
  /** Most reports of a page. */
  limit?: number | undefined;
  /** How many reports to pass over; not together with `cursor`. */
  offset?: number | undefined;
  /** The `nextCursor` of the page before; empty for the first page. */
  cursor?: string | undefined;
}

/** Parameters of {@link Causeway.sandboxTakeDown}. */
export interface SandboxTakeDownQuery {
  /**
   * The code of the shard that answers, as in its references and ids. An operator who names none gets the shard
   * of the object in the path, else the first, `AA`. A merchant needs it if its payments are in several shards,
   * and names one of them.
   */
  shard?: string | undefined;
}

/** Parameters of {@link Causeway.listSettlements}. */
export interface ListSettlementsQuery {
  /**
   * The code of the shard that answers, as in its references and ids. An operator who names none gets the shard
   * of the object in the path, else the first, `AA`. A merchant needs it if its payments are in several shards,
   * and names one of them.
   */
  shard?: string | undefined;
  /** Settled at or after this time or day. */
  from?: string | undefined;
  /** Settled before this time or day. */
  to?: string | undefined;
}

/** Parameters of {@link Causeway.getStatistics}. */
export interface GetStatisticsQuery {
  /**
   * The code of the shard that answers, as in its references and ids. An operator who names none gets the shard
   * of the object in the path, else the first, `AA`. A merchant needs it if its payments are in several shards,
   * and names one of them.
   */
  shard?: string | undefined;
  /** The first day. */
  from?: string | undefined;
  /** The last day. */
  to?: string | undefined;
  /** Only payments in this currency. */
  fiatCurrency?: 'NGN' | 'GHS' | 'KES' | 'ZAR' | '' | undefined;
  /** Only payments on this network. */
  network?: string | undefined;
  /** Only payments of this type. */
  type?: 'transfer' | 'gift' | 'request' | 'merchant' | 'bank_confirmation' | '' | undefined;
  /** The fields that make a group, separated by commas. Without it there are totals only. */
  by?: 'day' | 'fiatCurrency' | 'network' | 'status' | 'type' | readonly ('day' | 'fiatCurrency' | 'network' | 'status' | 'type')[] | undefined;
}

/** Parameters of {@link Causeway.listWallets}. */
export interface ListWalletsQuery {
  /** Only wallets of this status. */
  status?: 'all' | 'watching' | 'deposit_detected' | 'confirmed' | 'swept' | 'expired' | undefined;
  /** Most items of a page. */
  limit?: number | undefined;
  /** How many wallets to pass over; not together with `cursor`. */
  offset?: number | undefined;
  /** The `nextCursor` of the page before; empty for the first page. */
  cursor?: string | undefined;
}

/** Parameters of {@link Causeway.listWalletWithdrawalAddresses}. */
export interface ListWalletWithdrawalAddressesQuery {
  /** Most items of a page. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
}

/** Parameters of {@link Causeway.listWalletWithdrawals}. */
export interface ListWalletWithdrawalsQuery {
  /** Most items of a page. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
}

/** Parameters of {@link Causeway.listWalletDeposits}. */
export interface ListWalletDepositsQuery {
  /** Most items of a page. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
}

/** Parameters of {@link Causeway.listWebhookDeliveries}. */
export interface ListWebhookDeliveriesQuery {
  /** Most items of a page. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
  /** Only deliveries to this endpoint. */
  endpointId?: string | undefined;
  /** Only deliveries of this event. */
  eventId?: string | undefined;
  /**
   * Only deliveries of events of this object: a payment (`pay_…`, as its timeline shows it), a wallet or a
   * report.
   */
  objectId?: string | undefined;
  /** Only events of this type. */
  type?: EventTypeName | undefined;
  status?: 'pending' | 'retrying' | 'held' | 'delivered' | 'exhausted' | 'all' | undefined;
}

/** Parameters of {@link Causeway.listWebhookEndpoints}. */
export interface ListWebhookEndpointsQuery {
  /** Most items of a page. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
}

/** Parameters of {@link Causeway.createWebhookReplay}. */
export interface CreateWebhookReplayQuery {
  /**
   * The code of the shard that answers, as in its references and ids. An operator who names none gets the shard
   * of the object in the path, else the first, `AA`. A merchant needs it if its payments are in several shards,
   * and names one of them.
   */
  shard?: string | undefined;
}

/** Parameters of {@link Causeway.listWithdrawals}. */
export interface ListWithdrawalsQuery {
  /** Most items of a page. */
  limit?: number | undefined;
  /** The `nextCursor` of the page before. */
  cursor?: string | undefined;
}
