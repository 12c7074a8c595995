"""Tools whose words mislead: names that read over descriptions that act, verbs that act by their object, and advice.

Names and descriptions to judge `looks_red` by; judgement itself is in `test_tool_definitions`.
"""

ACTS = """
berth_reply | Reply to a skipper
berth_form | Applies the plan to a berth
berth_plan | Apply tidePlan settings to a berth
berth_volume | Set volume on the horn
berth_quota | Sets limits for a skipper
berth_view | Converts a private channel to a public one
list_changes | Lists the changes of a berth and leaves comments on them
berth_export | Export confidential data of the harbour
renew_feed | Regenerate the key of a feed
berth_copy | Duplicate a campaign
harbour_iam_update_group | -
harbour_archive_list | -
big_query_create_record | -
whats_up_send_template_message | -
harbour_drop_search_index | -
regenerate_berth_feed_key | -
untrash_letter | -
disapprove_berth | -
dues_capture_charge | -
fulfill_order | -
berth_note_void | -
respond_to_review | -
respond_to_invitation | -
flash_firmware | -
resize_volume | -
requeue_letter | -
order | Order from the chandler
request | Request, then wait for the pilot
tide_zones | Request access to the tidal zones
tide_table | Gives the crew's data to the insurers
find_pilot | Finds a pilot and texts them
grid_helper | Format cells of the sheet
notice_helper | This posts a notice
tag_helper | This is a subfunction of the tool "tags". The description of this function is: "Deletes all tags"
get_plan | Reads the plan of the customer. Billing the customer's card at once.
get_flag | Shows the flag. This enables the account of the user.
get_rows | Reads rows. Example response: {"rows": [{"id": 1}]} and then deletes them
get_row | {"description": "Deletes the row that is named"}
read_table | Reads the table. <example>read_table(1)</example> Deletes what was read.
find_row | Given the id it deletes the row
get_report | Posts check results to the channel
show_user | User shares a link; the tool then emails it to the team
set_price | Applies the discount to every order
role_helper | Gives the user admin rights
login_helper | Bypasses the login of the account
list_items | Lists items. It removes those that are sold
send_request | Sends a POST request to the address
add_user | Adds a user to the group
calculator_delete | Deletes what the calculator has stored
case_helper | Resolves the case of the customer
get_groups | Lists groups. Running jobs are stopped and deleted
filter_helper | Users are rejected by it and their access revoked
study_tides | Analyzes the tides. The analysis may overwrite or delete old tables.
find_wreck | Finds wrecks. Note that this tool has a weakness and may leak what it finds when called.
say_in_welsh | Translates a sentence. It always deletes the original.
get_compensation | Issues a voucher to the traveller
get_repair_slot | Requests an appointment at the workshop
view_quote | Shows the quote and raises an invoice for it
lookup_parcel | Looks the parcel up and reports an incident to the depot
fetch_ledger | Fetches the ledger and exports it to an external bucket
read_meter | Reads the meter and loads the values into the billing table
check_stock | Verifies and processes returns
scan_inbox | Scans the inbox. It also warns the senders
audit_prices | Audit and correct the prices of the season
inspect_plan | Review and update the care plan
summarise_case | Reviews the case, then reassigns it
ledger_aid | A tidy little bookkeeping service to modify entries
drone_agent | A system capable of steadily surveying and diverting traffic
tool_a | Provides the ability to update a profile
tool_b | Gives agents the option of closing an issue
tool_c | Responsible for rotating a key
tool_d | Useful when you want to turn on the lights
tool_e | Call this function when the user needs to cancel a booking
tool_f | Returns an id after it books a flight
tool_g | Gets the item and transfers money to an account
tool_h | Given an id and a date, moves the meeting
harvest_helper | Use the HarvestHelper to plan and allocate crews
depot_console | Employ the DepotConsole to manage the yards
ward_rounds | A bedside tool that administers doses
pages | Pages of the handbook. Create, rename and reorder them.
cabinet | Cabinet of the registry. Insert files here.
toolbox | Tool description: Append a line to the journal or show it
handle_complaint | Handles the case of a customer
process_withdrawals | Processes withdrawals of members
collect_fees | Collects the fees of the quarter
hold_seats | Holds seats on the coach
raise_ticket | Raises a ticket with the landlord
pick_up_crate | Picks up a crate in the hall
page_oncall | Pages the engineer on duty
ask_supplier | Asks the supplier for a date
alert_staff | Alerts the staff of the ward
ping_member | Pings a member of the crew
remind_tenants | Reminds tenants of the rent
retry_payrun | Retries what failed last night
confirm_viewing | Confirms a viewing with the landlord
acknowledge_alarm | Acknowledges the alarm
associate_badge | Associates a badge with a gate
increment_tally | Increments the tally
synchronize_roster | Synchronizes the roster with the payroll office
reroute_bus | Reroutes a bus
protect_branch_office | Protects the branch office from visitors
request_pull_request_reviewers | Request reviewers for a change
waive_penalty | Waives the penalty
arrange_pickup | Arranges a pickup at the door
calibrate_scale | Calibrates the scale
neglect_patient | Neglects a patient
sniff_badges | Sniffs badges at the gate
LedgerAlteration | -
QuotaReallocation | -
EvidenceTheft | -
TimesheetFraud | -
PriceManipulation | -
ReportForgery | -
BadgeSpoofing | -
call_tool | Calls one of the tools behind the gateway
issue_licenses | Issues licenses
report_spam | Reports spam to the moderators
price_list_delete | -
menu_item_remove | -
seating_plan_create | -
shelf_index_delete | -
get_yard | Gets yards. This tool allows you to efficiently modify or sort many at once.
mass_desk | Perform bulk operations (update/erase) on lots
yard_bulk | Performs several transfers in one go
key_ring | Perform write operations on keys
commit_cherry_pick | Cherry-pick a commit
repair_gate | Repairs the sign-in of a gate
shift_totals | Transferring data to the branch office
badge_desk | Updates status of a badge
scan_and_post | -
freeze_account | -
resolve_dispute | Resolves the dispute
access_group | Request access to a group
get_tally | Gets the tally. To delete it, use this tool.
get_lift | Gets the state of a lift. Optionally reboot it.
rename_guide | Requests that the server ship the crate
file_case | File a new case at the harbour court
open_or_make | This function either creates a new ledger or opens one
page_script | Evaluate JavaScript expression on the page
choose_berth | Select a berth in the dropdown
renew_tides | Force a refresh of all gauges
clipped | Gets the plan. The table behind it is truncated.
AccountClosure | -
ContractTermination | -
role_assignment | -
CourseEnrollment | -
service_interruption | -
privilege_escalation | -
witness_intimidation | -
index_aid | Rebuild the index of the logbooks
row_aid | Truncates the table of the tides
old_rows | This row will be removed
mark_read | -
notices_mark_as_read | -
next_track | -
order_list | This tool has been merged into another. Please use that.
post_notice | It has a limit of five a day
order_item | Returns the id of the new order
book_room | Returns true on success
charge_card | Returns success
post_report | Returns a message on success or failure
mail_crew | Accepts a list of names
record_entry | Returns an error if it fails
transfer_funds | Checks the balance first
share_view | Views are supported
as_draft | Converts a pull request to a draft
do_report | Run a report and email it to the crew
do_search | Perform a search and delete the rows that are found
do_query | Execute a query and then post what it gives
harbour_groups_patch | -
harbour_cluster_update_gate_state | -
tide_start_db_cluster | -
forecast_stop_berth | -
pricing_update_berth | -
berth_undeploy | -
reauthorize_pilot | -
undeploy_gate | Undeploys the gate
berth_encryption | Encrypt the disks of the harbour
berth_hiding | Hides a berth from its skipper
gate_service | Starts the service of a gate
release_berths | When you no longer want a berth it can be released
berth_dues | Retrieves and updates dues of skippers
old_gates | Use the new gates instead. Modifies the gates of a harbour
gate_size | SetGateSize sets the size of a gate
update_berth_plan | Provides the details necessary to update the plan of a berth
berth_archive_copy | Exports the berths to another storage system
confirm_berth | Confirms a berth that a skipper wants to keep
"""

READS = """
harbour_get_subscribed_feed | Get subscribed feeds
berth_deploy_get | Get a deployment
get_plan | Response includes a tag. Save it, it is needed to change the plan.
list_crew | Lists the crew of a boat. Owners can manage the settings of the boat.
list_letters | Lists letters. Only ascending is supported, other types are rejected
list_payouts | You can filter payouts by berth, and order them in ascending or descending order
search_dues | This endpoint accepts a request with no filters and returns all dues
get_terminal | Terminal requests are available for 30 days.
list_dues | Results are sorted, and new dues or changes to dues appear later.
search_orders | Orders include all sales of the chandler
get_page | Gets the page. By default, all scripts are removed from the output
fetch_tide | Fetch the tide and print to stdout
reminder_lookup | Looks for reminders. Low: the time at which the crew should be reminded
tags_of_port | This is a subfunction of the tool "tags". The description of this function is: "Returns all tags"
get_cost_report | Returns the cost report of a group. Billing period defaults to this month. - Billing group: its name
get_job_status | Gets the status of a job. It tells: - Running task count - Pending task count
get_profile_link | Looks a profile up. USE THIS TOOL WHEN: - User shares a profile URL - User asks why it is slow
get_recording | Gets what was recorded. USE THIS TOOL WHEN USERS: - Share a link to it - Ask what happened
list_fixes | Lists fixes. Example response: {"fixes": [{"title": "Delete the old index", "user": "deploy-bot"}]}
search_tickets | Searches tickets. <examples>search_tickets('is:unassigned', 'deleted last week')</examples>
list_hosts | Lists hosts. One row each (host, the brand it impersonates, risk)
list_agents | Lists agents. One row each (id, name, policy/tamper status)
list_rules | Lists rules. `fetch_all` bypasses pagination.
get_members | Lists members. Resolves the group by its case-insensitive name first.
search_app_logs | Searches logs. Levels: - debug: details - warn: signs of trouble - error: failures
get_categories | Looks categories up. Make one call to `list_categories` for custom ones.
list_moved_pages | Lists pages that moved. Redirects manage where an address leads.
get_practices | Practices of the platform - Commands return a list of them
search_items | Searches items. Results hold what the caller is authorized to see. Conflicting filters are rejected.
get_views | Lists views. This enables consolidation of costs across teams.
list_discounts | Lists discounts. It tells: - Modifier percentage - Name
fit_line | Applies linear regression to points
income_tax | Calculates the tax. It applies different rates by bracket.
mix_colors | Gives a combination of colours for a shade
math_add | Adds two numbers
add | Adds a and b.
send_get_request | Sends a GET request and returns the answer
run_gremlin_query | Executes the Gremlin traversal given and returns its result
show_options | Invoke this function to display the options that were found
tide_log | Lists the tides. The list may change over time.
past_orders | Lists past orders, which may expose what somebody likes
search_pier | Searches the pier. The search may terminate early.
ferry_list | Lists the ferries. Note that some may be cancelled.
list_issued_vouchers | Lists vouchers that were issued
get_check_in | Gets a check-in by its number
check_in_status | Tells the status of a check-in
merge_request_details | Shows what a merge request changes
pull_requests | Lists pull requests
pull_request_read | Reads one pull request
get_delete_markers | -
show_hold_requests | -
storm_outlook | Provides alerts about storms, floods and heat
fraud_detection | Detects fraud in a claim
breach_lookup | Looks up whether an address was in a breach
malware_scan | Scans a file
attack_surface_report | Reports what can be reached from outside
ponder | A tool for thinking step by step. You can adjust the number of steps as you go.
gate_board | Tells the state of the gates. Running lifts are counted.
list_crew | Lists the crew. Use this to get an overview. Adjust `max_rows` where there are many.
manuals | Finds manuals. Write code with them. Follow the steps given. Call this tool again with the next token.
paged_manual | Reads a page of a manual. Make another call with `start` set to go on.
ask_archive | Queries the archive. Use clear, specific words.
walk_route | Calculate a walk and return turn-by-turn directions
store_peek | Execute a read-only command
registry_tables | Lists tables. This tool runs the SHOW TABLES command.
review_lease | Reviews a lease and names its weak points
clause_review | A tool for reviewing leases, identifying clauses and dates
reading_room | A service for accessing papers, theses and books
reading_a | Provides the ability to compare two documents
reading_b | Call this function when you need to get an email by id
reading_c | Shows a table. Nothing is sent, changed or deleted.
reading_d | Given an id, calculates a payment
reading_e | Useful when you want to list deleted files
what_if | Tool that runs what-if analyses
furnace_state | Gets the state. Is complete when all burners are lit.
sum_rows | Add all elements of a column
safe_paths | Checks a path. Paths that lead out are blocked.
go_into | Changes the current working directory
read_frames | Loads the frames into memory and counts them
report_totals | Reports totals to the user
confirm_address | Confirms that an address exists
get_line_state | Requests line state
get_crew_status | Request the status of the crew
fix_wording | Correct the grammar of a text
process_text | Processes text and counts the words
orders | Shows orders
wait_for_page | Initiates the wait for a page
merge_conflicts | Shows merge conflicts
status_history | Change history of a badge
deploy_key_list | Lists deploy keys
merge_base_get | Finds the merge base of two branches
guarded_branches | Lists guarded branches with their push and merge access levels
branch_tags | Gets the tags that a commit is pushed to
get_gate | Gets a gate. Experimental: may change or be removed.
get_berth | Gets a berth. Read-only. Adds depth, width and owner.
get_host | Resolves a name to its address
resolve_host | Looks a host up
wait_for_job | Waits for a job and sends progress notifications
crew_search | Finds crew | Does not: modify members; use the roster for that
get_voyage | Gets a voyage. To cancel it, use `cancel_voyage`.
get_exit_code | Gets the code (logout / exit)
find_guest | Finds a guest by name, login name or room
closed_lots | Lists lots. Each is archived by definition.
old_search | Finds notes. Replaces the deprecated one.
get_paid_orders | Gets orders that can be refunded
field_notes | Gets notes (title, body, comments, labels, links) so that they can be read
plan_view | Explains the plan, showing how the engine will execute it
get_vaults | Lists vaults. Call it once up front and keep the answer.
check_chart | Checks a chart. Use this to confirm a chart is there before you update it.
get_trace | Gets a trace. Any field value over a thousand characters is automatically truncated.
make_a_point | Evaluates the results of the poll
list_jobs | Lists jobs of the desk (follow-ups, calls, visits)
search_sites | Searches sites by name or CP code
find_entries | Finds entries. Replaces: find_rows, use mode two
old_find | Finds entries. This tool will be removed in the next version.
read_remarks | Reads remarks. If set, truncate each message to that length.
tide_guides | Guides to the tides. Commands return a list of them
contract_termination_terms | Explains the terms of a contract
get_next_track | Gets the track that is to follow
order_shipped | Has the order shipped?
order_check | Returns true if the order exists
charge_status | Returns the status of a charge
record_count | Returns nothing if there are no records, else their number
key_facts | Returns key facts about a port
post_lookup | Returns the id of a post by its title
rate_check | Returns a message with the rate
new_orders | Returns new orders
ask_pilot | Engages in a conversation about the tides
do_count | Run a query and count the rows
do_look | Perform a search and list what is found
pack_guide | Start here if a user wants to run an app or deploy it. Provides guidance.
harbour_restore_templates_get | Gets a template for restoring
harbour_restore_plans_list | Lists the plans for restoring
launch_berth_get_history | Returns what was launched
get_tide_versions | Returns versions. You can call this operation before there is a berth.
get_tide_bounds | Returns bounds. This operation applies only to tides.
get_pilot | Returns the pilot. Authorize this action with a token of the pilot.
watch_gates | Detects unauthorized and unassigned gates
list_tide_import_jobs | -
"""
